// A process that never closes its sandbox. It ends by itself, once its calls have ended.
import { hostOf, request, resultOf } from "./guests.fixture.ts";
import { createSandbox } from "./guest-pool.ts";

const sandbox = createSandbox({ workers: 2 });
console.log(resultOf(await sandbox.run(request("a", "get"))));
const killed = await sandbox.run(request("a", "spin", { callMs: 30 }));
console.log(killed.end);
const controller = new AbortController();
const { host } = hostOf(() => {
  controller.abort();
  return new Promise(() => {});
});
await sandbox.run(request("a", "timing.sleep 1", { host, signal: controller.signal })).catch(() => console.log("rejected"));
// Only this call keeps the process alive.
void sandbox.run(request("b", "timing.sleep 1")).then((outcome) => console.log(resultOf(outcome)));
