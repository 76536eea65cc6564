import type { GuestState } from "../guest-state.ts";

/** For the callers of a paused guest. */
export const whyPaused = ({ failed }: GuestState): string =>
  failed === undefined
    ? "This actor is paused with its parent, which failed: restart either."
    : `This actor is paused after event ${failed.seq} (${failed.message}): restart it.`;
