// The bare machine on disk: the echo, which answers once the rows of a turn are there, many in a transaction. Its arguments: a folder, and how many actors.
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { BareTurns } from "./bare-turns.ts";
import { answer, idIn } from "./echo-answer.ts";
import { readyWith } from "./ready.ts";

const MOST_ROUNDS = 4;

const folder = process.argv[2] ?? "";
const actors = Number(process.argv[3] ?? 1);
const turns = new BareTurns(join(folder, "bare.db"), actors);

let waiting: { readonly response: ServerResponse; readonly id: unknown; readonly place: number }[] = [];
let before = 0;
let rounds = 0;

// A group is open while rounds of the event loop bring more, as the store's is.
const look = (): void => {
  const more = waiting.length > before;
  before = waiting.length;
  rounds += 1;
  if (more && rounds < MOST_ROUNDS) {
    setImmediate(look);
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
  if (waiting.length === 1) setImmediate(look);
});
