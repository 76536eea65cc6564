/** Theater's management protocol, served over a stage. */
export type { TheaterListener, TheaterOptions } from "./options.ts";
export { serveTheater } from "./serve.ts";
