// Calls milkd from Node over a bare socket: node client.js
//
// $MILKD_SOCKET is the daemon's, $CALLS a JSON list of [name, method, params…].  Prints what each
// call came to, as JSON: {name: {"result": …} or {"error": [kind, text]}}, and the events.

const net = require("node:net");
const { encode, decodeMultiStream } = require("@msgpack/msgpack");

class Milkd {
  constructor(path) {
    this.socket = net.connect(path);
    this.waiting = [];
    this.events = [];
    this.ended = this.read();
  }

  async read() {
    for await (const message of decodeMultiStream(this.socket)) {
      if (message[0] === 1) this.waiting[message[1]](message);
      else this.events.push([message[1], ...message[2]]);
    }
  }

  call(method, ...params) {
    const msgid = this.waiting.length;
    this.socket.write(encode([0, msgid, method, params]));
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}

async function main() {
  const milkd = new Milkd(process.env.MILKD_SOCKET);
  const said = {};
  const call = async (name, ...rest) => {
    const [, , error, result] = await milkd.call(...rest);
    said[name] = error === null ? { result } : { error };
  };
  for (const each of JSON.parse(process.env.CALLS)) await call(...each);
  await call("surrogate", "record", { content: "a\ud800b" });
  await call("bytes", "learn", { content: new TextEncoder().encode("Sent as bytes") });
  await call("date", "record", { content: new Date() });
  await call("undefined", "hello", { client: undefined });
  await call("subscribed", "subscribe", { topics: ["percepts"] });
  await call("watched", "learn", { content: "A fact that subscribers are told" });
  // Asked without waiting, and nothing more to say: all is answered all the same, in order.
  await Promise.all([1, 2, 3].map((n) => call(`many_${n}`, "ping")).concat(milkd.socket.end()));
  await milkd.ended;
  console.log(JSON.stringify({ ...said, events: milkd.events }));
}

main();
