// A process that ends by itself though it never closes its sandbox, and not before its calls have.
import { hostOf, request, said } from "./guests.fixture.ts";
import { createSandbox } from "./guest-pool.ts";

const sandbox = createSandbox({ workers: 2 });
console.log(said(await sandbox.run(request("a", "get"))));
const killed = await sandbox.run(request("a", "spin", { callMs: 30 }));
console.log(killed.end);
const controller = new AbortController();
const { host } = hostOf(() => {
  controller.abort();
  return new Promise(() => {});
});
await sandbox.run(request("a", "timing.sleep 1", { host, signal: controller.signal })).catch(() => console.log("rejected"));
// Nothing but the call is left to hold it.
void sandbox.run(request("b", "timing.sleep 1")).then((outcome) => console.log(said(outcome)));
