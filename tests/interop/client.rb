# Calls milkd from Ruby over a bare socket: ruby client.rb
#
# $MILKD_SOCKET is the daemon's, $CALLS a JSON list of [name, method, params…].  Prints what each
# call came to, as JSON: {name: {"result": …} or {"error": [kind, text]}}, and the events.

require "json"
require "msgpack"
require "socket"

class Milkd
  attr_reader :events

  def initialize(path)
    @socket = UNIXSocket.new(path)
    @messages = MessagePack::Unpacker.new(@socket)
    @msgid = -1
    @events = []
  end

  def call(method, *params)
    send(method, *params)
    answer
  end

  def send(method, *params)
    @socket.write([0, @msgid += 1, method, params].to_msgpack)
  end

  def answer
    until (message = @messages.read)[0] == 1
      @events << [message[1], *message[2]]
    end
    message[2] ? { error: message[2] } : { result: message[3] }
  end

  def end
    @socket.close_write
  end
end

milkd = Milkd.new(ENV["MILKD_SOCKET"])
said = {}
JSON.parse(ENV["CALLS"]).each { |name, *rest| said[name] = milkd.call(*rest) }
said[:not_utf8] = milkd.call("record", { content: "a\xFFb" })
said[:bytes] = milkd.call("learn".b, { content: "Sent as bytes".b })
said[:bytes_not_utf8] = milkd.call("record", { content: "a\xFFb".b })
said[:nil] = milkd.call("record", { content: nil })
said[:subscribed] = milkd.call("subscribe", { topics: [:percepts] })
said[:watched] = milkd.call("learn", { content: "A fact that subscribers are told" })
# Asked without waiting, and nothing more to say: all is answered all the same, in order.
3.times { milkd.send("ping") }
milkd.end
(1..3).each { |n| said["many_#{n}"] = milkd.answer }
puts JSON.generate(said.merge(events: milkd.events))
