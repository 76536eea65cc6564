import type { Clock } from "../../core/contract/index.ts";

/** Characters of one line that are passed on. */
const LINE = 2_000;
/** Lines of one second that are passed on. */
const LINES = 200;

/** Takes text as it comes, and tells it line by line: of too much only that there was more. */
export function logLines(clock: Clock, tell: (line: string) => void): (text: string) => void {
  let rest = "";
  let second = -1;
  let told = 0;
  const line = (text: string): void => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) [second, told] = [now, 0];
    told += 1;
    if (told <= LINES) tell(text.length <= LINE ? text : `${text.slice(0, LINE)}…`);
    else if (told === LINES + 1) tell("… (more than is passed on in one second)");
  };
  return (text) => {
    const lines = text.split(/\r?\n/);
    lines[0] = rest + (lines[0] ?? "");
    // What is beyond a line's length is dropped here already, or a line without an end would fill the memory.
    rest = (lines.pop() ?? "").slice(0, LINE + 1);
    for (const one of lines) if (one !== "") line(one);
  };
}
