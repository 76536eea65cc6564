// A message is commands, divided by a line of "&&"; what they answered, divided the same way, is the reply.
import { decoded, utf8 } from "../../../../examples/wasm/lib/abi";
import { Words } from "./words";

const BETWEEN = "\n&&\n";

/** What a message did. */
export class Done {
  constructor(
    readonly said: string,
    readonly next: ArrayBuffer | null,
    /** Empty: it did not fail. */
    readonly failed: string,
  ) {}
}

/** `ask` answers `<interface>.<function>`; empty where it does not know it. */
export function run(script: string, before: ArrayBuffer | null, ask: (name: string, words: Words) => string): Done {
  const lines = script.split(BETWEEN);
  const said: string[] = [];
  let next = before;
  for (let i = 0; i < lines.length; i++) {
    const words = new Words(lines[i]);
    const name = words.next();
    if (name == "trap") unreachable();
    if (name == "spin") while (true) spun++;
    if (name == "fail") return new Done("", before, words.last());
    if (name == "set") {
      next = utf8(words.last());
      said.push("ok");
    } else if (name == "get") said.push(next === null ? "ok none" : "ok " + decoded(next));
    else {
      const answer = ask(name, words);
      if (answer.length == 0) return new Done("", before, "No command is called " + name);
      said.push(answer);
    }
  }
  return new Done(said.join(BETWEEN), next, "");
}

let spun = 0;
