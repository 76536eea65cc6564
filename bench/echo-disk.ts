// The echo with a disk: answers after the rows of a turn are written, many turns in one transaction. Arguments: a folder and the number
// of actors.
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { BareTurns } from "./bare-turns.ts";
import { answer, idIn } from "./echo-answer.ts";
import { readyWith } from "./ready.ts";

const MAX_ROUNDS = 4;

const folder = process.argv[2] ?? "";
const actors = Number(process.argv[3] ?? 1);
const turns = new BareTurns(join(folder, "bare.db"), actors);

let waiting: { readonly response: ServerResponse; readonly id: unknown; readonly place: number }[] = [];
let before = 0;
let rounds = 0;

// Like the store, waits as long as iterations of the event loop bring more requests.
const flush = (): void => {
  const more = waiting.length > before;
  before = waiting.length;
  rounds += 1;
  if (more && rounds < MAX_ROUNDS) {
    setImmediate(flush);
    return;
  }
  const group = waiting;
  waiting = [];
  before = 0;
  rounds = 0;
  turns.commit(group.map(({ place }) => place));
  for (const { response, id } of group) answer(response, id);
};

readyWith((text, response) => {
  const id = idIn(text);
  // Each connection sends its number as the id.
  waiting.push({ response, id, place: Number(id) % actors });
  if (waiting.length === 1) setImmediate(flush);
});
