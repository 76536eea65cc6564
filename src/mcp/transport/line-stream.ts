import type { ServerResponse } from "node:http";
import type { Channel } from "../../core/contract/index.ts";
import { asChunk, type StreamDoor } from "./event-stream.ts";
import { LineChannel } from "./line-channel.ts";
import type { OpenStream } from "./open-streams.ts";
import { ResponseOutlet } from "./response-outlet.ts";

class LineOutlet extends ResponseOutlet {
  protected override put(data: string | Uint8Array): void {
    super.put(this.direct && typeof data === "string" ? asChunk(data) : data);
  }
}

/**
 * A response as lines of JSON, each written as soon as it is sent. The head must
 * have been sent. Nothing keeps it alive: not every reader passes over an empty line.
 */
export function lineStream(response: ServerResponse, chunked: boolean, door: StreamDoor): Channel & OpenStream {
  const channel = new LineChannel({ outlet: new LineOutlet(response, chunked, door), end: () => void response.end() });
  response.on("close", () => {
    channel.lose();
    door.onEnd(stream, response);
  });
  const stream: Channel & OpenStream = {
    send: (text) => channel.send(text),
    get ready() {
      return channel.ready;
    },
    get gone() {
      return channel.gone;
    },
    onReady: (run) => channel.onReady(run),
    close: () => channel.close(),
    keepAlive() {},
    evict() {
      channel.close();
      channel.lose();
    },
  };
  return stream;
}
