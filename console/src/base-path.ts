// Owns: where the console is served. Does not own: its pages' paths (app.tsx).

/** `/console`, without a slash at its end: scripts are in `/console/assets/`, whatever page is open. */
export const BASE = new URL(/* @vite-ignore */ "..", import.meta.url).pathname.replace(/\/$/, "");
