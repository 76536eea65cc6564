// Loaded into the server that cost-search.ts starts. Reports the processor time and delay since the last report.
import { monitorEventLoopDelay } from "node:perf_hooks";

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let before = process.cpuUsage();

process.on("message", () => {
  const { user, system } = process.cpuUsage(before);
  process.send?.({ cpuMs: (user + system) / 1_000, delayMs: delay.max / 1e6 });
  before = process.cpuUsage();
  delay.reset();
});
// The server must not outlive a search that was killed.
process.on("disconnect", () => process.exit());
