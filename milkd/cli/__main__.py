"""`python -m milkd.cli` is `milkctl`."""

import sys

from milkd.cli.main import main

sys.exit(main())
