import { converter } from "./server.ts";

// What `troupe serve` serves. In an application of your own, mount `converter()` in Hono, Express or node:http instead.
export const { source } = converter();
