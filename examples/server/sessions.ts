import { dynamoSessionStores } from "troupe/dynamo";
import { createServer, type Server } from "troupe/server";
import { type SessionStores, sqliteSessionStores } from "troupe/store";

/** A server, and the session stores to close after it. */
export interface ServerWithStores {
  readonly server: Server;
  readonly stores: SessionStores;
}

export function onOneFile(path: string, requestStateKey: Uint8Array): ServerWithStores {
  const stores = sqliteSessionStores({ path });
  const server = createServer("hello", "1.0.0", { ...stores, requestStateKey });
  return { server, stores };
}

export function onDynamo(region: string, requestStateKey: Uint8Array): ServerWithStores {
  const stores = dynamoSessionStores({ region });
  const server = createServer("hello", "1.0.0", { ...stores, requestStateKey });
  return { server, stores };
}
