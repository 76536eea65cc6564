// Owns: the JSON of the console's API, which the page, `curl` and the command line's --json share. Does not own: making it (the other
// files of this folder).
//
// Times are milliseconds since 1970. A page of a list ends with `next`, the value of `after` for the following page; absent: no more.

export type * from "./shapes/actors.ts";
export type * from "./shapes/answers.ts";
export type * from "./shapes/apps.ts";
export type * from "./shapes/events.ts";
export type * from "./shapes/guests.ts";
export type * from "./shapes/log.ts";
export type * from "./shapes/operations.ts";
export type * from "./shapes/overview.ts";
export type * from "./shapes/packets.ts";
export type * from "./shapes/queues.ts";
export type * from "./shapes/sql.ts";
export type * from "./shapes/surfaces.ts";
export type * from "./shapes/traffic.ts";
