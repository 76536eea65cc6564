/** One of several processes on one session file. Arguments: path, name. */
import { sqliteSessionStores } from "./index.ts";

const [path = "", name = ""] = process.argv.slice(2);
await using stores = sqliteSessionStores({ path });
const ids: string[] = [];
for (let n = 0; n < 100; n += 1) {
  ids.push(await stores.streams.append("shared", "stream", { name, n }));
  await stores.sessions.put({
    id: `${name}-${n}`,
    protocol: "p",
    client: {},
    capabilities: {},
    subscriptions: [],
    createdAt: n,
    seenAt: n,
  });
}
process.stdout.write(JSON.stringify(ids));
