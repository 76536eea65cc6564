// As much of dynalite as the tests call: it ships no types of its own.
declare module "dynalite" {
  import type { Server } from "node:http";

  export default function dynalite(options?: { readonly createTableMs?: number; readonly updateTableMs?: number }): Server;
}
