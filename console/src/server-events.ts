// Owns: reading server-sent events from the body of a response. `EventSource` cannot send headers, and so no token.

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  /** With which the stream can be resumed. */
  readonly id?: string;
}

/** Ends when the stream does. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  let event = "message";
  let data: string[] = [];
  let id: string | undefined;
  let rest = "";
  // A decoder is a pair of streams of its own, which the types of a response's body do not fit exactly.
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { event, data: data.join("\n"), ...(id === undefined ? {} : { id }) };
        event = "message";
        data = [];
      } else if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      else if (line.startsWith("id:")) id = line.slice(3).trim();
    }
  }
}
