// Reads the events of a response one at a time.
import assert from "node:assert/strict";

export interface ServerEvent {
  readonly event?: string;
  readonly id?: string;
  readonly data: string;
}

export interface EventReader {
  /** Undefined at the end of the stream. Comments are skipped. */
  next(): Promise<ServerEvent | undefined>;
  /** The next event's data, as JSON. */
  json(): Promise<unknown>;
  /** All remaining events. */
  rest(): Promise<readonly ServerEvent[]>;
  /** The raw text so far. */
  readonly text: string;
  cancel(): Promise<void>;
}

function eventOf(block: string): ServerEvent | undefined {
  const fields: Record<string, string> = {};
  for (const line of block.split("\n")) {
    const mark = line.indexOf(": ");
    if (mark <= 0) continue;
    const name = line.slice(0, mark);
    const value = line.slice(mark + 2);
    fields[name] = name === "data" && fields["data"] !== undefined ? `${fields["data"]}\n${value}` : value;
  }
  const { event, id, data } = fields;
  if (data === undefined) return undefined;
  return { data, ...(event === undefined ? {} : { event }), ...(id === undefined ? {} : { id }) };
}

export function eventReader(response: Response): EventReader {
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.ok(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let at = 0;
  const next = async (): Promise<ServerEvent | undefined> => {
    for (;;) {
      const end = text.indexOf("\n\n", at);
      if (end >= 0) {
        const event = eventOf(text.slice(at, end));
        at = end + 2;
        if (event !== undefined) return event;
      } else {
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += value;
      }
    }
  };
  return {
    next,
    async json() {
      const event = await next();
      assert.ok(event !== undefined, "the stream has ended");
      return JSON.parse(event.data);
    },
    async rest() {
      const events: ServerEvent[] = [];
      for (let event = await next(); event !== undefined; event = await next()) events.push(event);
      return events;
    },
    get text() {
      return text;
    },
    cancel: () => reader.cancel(),
  };
}
