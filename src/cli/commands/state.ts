// Owns: `troupe state`. Does not own: where the state is read (open-store.ts).
import type { Command } from "commander";
import { resolveActor, type Target, addTargetOptions } from "../actor-options.ts";
import { noActor } from "../command-error.ts";
import { openReader } from "../open-store.ts";
import { output, visible } from "../output.ts";

export const register = (program: Command): void => {
  addTargetOptions(program.command("state").description("Print an actor's last durable state.").argument("<actor>", "kind/key")).action(
    printState,
  );
};

const printState = async (actor: string, options: Target): Promise<void> => {
  const id = await resolveActor(actor);
  const { store } = await openReader(options);
  await using _ = store;
  const found = await store.state(id);
  if (found === undefined) throw noActor(id, store.place);
  const { uid, seq, head, status, version, createdAt, lastMessageAt, messageCount, state } = found;
  const stateBytes = Buffer.byteLength(JSON.stringify(state));
  output(options).show({ id, uid, seq, head, status, version, createdAt, lastMessageAt, messageCount, stateBytes, state }, () =>
    visible(JSON.stringify(state, null, 2)),
  );
};
