export { webDoor } from "./web-door.ts";
export type { WebDoor, WebLimits, WebOptions } from "./web-options.ts";
