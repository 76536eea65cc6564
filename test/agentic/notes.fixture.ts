// A service of no library, served with options: `troupe serve notes.fixture.ts`.
import { type AgenticService, fromAgenticService, type Observe } from "../../src/bridges/agentic/index.ts";

let notes: readonly string[] = ["milk"];
const listeners = new Set<(notes: readonly string[]) => void>();
const observe =
  <T>(see: (notes: readonly string[]) => T): Observe<T> =>
  (notify) => {
    const listener = (all: readonly string[]): void => notify(see(all));
    listeners.add(listener);
    listener(notes);
    return () => void listeners.delete(listener);
  };
const write = (next: readonly string[]): void => {
  notes = next;
  for (const listener of listeners) listener(notes);
};

const add = (text: string): void => write([...notes, text]);
const wipe = (): void => write([]);

const service: AgenticService = {
  states: observe((all) => ({ notes: { value: all }, count: { value: all.length } })),
  actions: observe((all) => ({
    add: { description: "Notes something.", schema: { title: "text", type: "string" }, execute: (text: unknown) => add(String(text)) },
    ...(all.length === 0 ? {} : { wipe: { description: "Forgets all.", schema: false, execute: wipe } }),
    debug: { description: "Of no use to clients.", schema: false, execute: () => undefined },
  })),
  links: (notify) => {
    notify({ archive: service });
    return () => undefined;
  },
  async execute(action, input) {
    if (action === "add") add(String(input));
    else wipe();
  },
};

export default fromAgenticService(service, {
  name: "notes",
  states: "tool",
  links: "list",
  linkDescriptions: { archive: "What was noted before." },
  changedStates: true,
  actions: {
    wipe: { title: "Forget", annotations: { destructiveHint: true }, confirm: "Forget all notes?" },
    debug: { hidden: true },
  },
});
