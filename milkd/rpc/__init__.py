"""The wire: MessagePack-RPC and the table of methods, without any I/O."""
