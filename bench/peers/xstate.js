// XState: a counter as a machine. It handles events synchronously, so the snapshot after the event has the result.
import { assign, createActor, createMachine } from "xstate";

const machine = createMachine({
  context: { count: 0 },
  on: { add: { actions: assign({ count: ({ context, event }) => context.count + event.by }) } },
});

export const begin = () => createActor(machine).start();

export const add = (actor, by) => {
  actor.send({ type: "add", by });
  return actor.getSnapshot().context.count;
};
