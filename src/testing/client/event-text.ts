/** One event as it stood in the stream. */
export interface EventText {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** Longer events are of a server that went wrong: the test has to end. */
const MOST = 64 * 1_048_576;

/** Events of a stream of server-sent events, by HTML's rules; comments and events without any field are left out. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<EventText, void> {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    // A break may be cut in two: a carriage return at the end waits for what follows.
    const text = rest + chunk;
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
    const blocks = whole.replaceAll(/\r\n?/g, "\n").split("\n\n");
    rest = (blocks.pop() ?? "") + text.slice(whole.length);
    if (rest.length > MOST) throw new Error(`An event is longer than ${MOST} characters.`);
    for (const block of blocks) {
      const event = eventIn(block);
      if (event !== undefined) yield event;
    }
  }
}

function eventIn(block: string): EventText | undefined {
  const fields = block.split("\n").flatMap((line) => {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?([\s\S]*))?$/.exec(line) ?? [];
    return name === "" ? [] : [[name, value] as const];
  });
  const last = (name: string): string | undefined => fields.findLast(([one]) => one === name)?.[1];
  const [id, event] = [last("id"), last("event")];
  const data = fields.flatMap(([name, value]) => (name === "data" ? [value] : []));
  if (data.length === 0 && id === undefined) return undefined;
  return { ...(id === undefined ? undefined : { id }), ...(event === undefined ? undefined : { event }), data: data.join("\n") };
}
