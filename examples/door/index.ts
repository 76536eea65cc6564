import { actor, refuse } from "troupe";
import * as z from "zod";

/** Each user's own door. Its tools depend on whether it is open or locked. */
export const door = actor("door", {
  description: "A door.",
  per: "user",
  persistence: "disk",
  state: z.object({ open: z.boolean().default(false), locked: z.boolean().default(true) }),
  tools: {
    open: {
      description: "Open the door.",
      enabled: ({ state }) => !state.open || "It is already open.",
      run({ state }) {
        if (state.locked) refuse("It is locked.");
        state.open = true;
        return "It creaks open.";
      },
    },
    unlock: {
      description: "Turn the key.",
      enabled: ({ state }) => state.locked || "It is not locked.",
      run({ state }) {
        state.locked = false;
        return "Click.";
      },
    },
    close: {
      description: "Close the door.",
      enabled: ({ state }) => state.open || "It is not open.",
      run({ state }) {
        state.open = false;
        return "It falls shut.";
      },
    },
    look: { description: "Look at it.", view: ({ state }) => (state.open ? "Open." : "Shut.") },
  },
  resources: { state: { uri: "door://{alias}/state", mimeType: "application/json", view: ({ state }) => state } },
  messages: {
    knock: {
      run({ state, emit }) {
        emit(state.open ? "Somebody is at the open door." : "Somebody knocks.");
      },
    },
  },
});
