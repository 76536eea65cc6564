import { bytes, items, someBytes, text } from "../values.ts";
import type { Family } from "./told.ts";

const failure = (operation: string, child: string | null, message: string | undefined) => ({
  Error: { operation, child_id: child, message },
});
const FAMILY = "Supervisor";

export const SUPERVISOR: Family = {
  spawn: ({ args: [manifest], ok, error }) => ({
    family: FAMILY,
    called: { SpawnChildCall: { manifest_path: text(manifest) } },
    gave: { SpawnChildResult: { child_id: text(ok), success: true } },
    failed: failure("spawn", null, error),
  }),
  resume: ({ args: [manifest, state], ok, error }) => ({
    family: FAMILY,
    called: { ResumeChildCall: { manifest_path: text(manifest), initial_state: someBytes(state) } },
    gave: { ResumeChildResult: { child_id: text(ok), success: true } },
    failed: failure("resume", null, error),
  }),
  "list-children": ({ ok }) => ({
    family: FAMILY,
    called: { ListChildrenCall: {} },
    gave: { ListChildrenResult: { children_count: items(ok).length, success: true } },
  }),
  "stop-child": ({ args: [child], error }) => ({
    family: FAMILY,
    called: { StopChildCall: { child_id: text(child) } },
    gave: { StopChildResult: { child_id: text(child), success: true } },
    failed: failure("stop-child", text(child), error),
  }),
  "restart-child": ({ args: [child], error }) => ({
    family: FAMILY,
    called: { RestartChildCall: { child_id: text(child) } },
    gave: { RestartChildResult: { child_id: text(child), success: true } },
    failed: failure("restart-child", text(child), error),
  }),
  "get-child-state": ({ args: [child], ok, error }) => ({
    family: FAMILY,
    called: { GetChildStateCall: { child_id: text(child) } },
    gave: { GetChildStateResult: { child_id: text(child), state_size: bytes(ok).length, success: true } },
    failed: failure("get-child-state", text(child), error),
  }),
  "get-child-events": ({ args: [child], ok, error }) => ({
    family: FAMILY,
    called: { GetChildEventsCall: { child_id: text(child) } },
    gave: { GetChildEventsResult: { child_id: text(child), events_count: items(ok).length, success: true } },
    failed: failure("get-child-events", text(child), error),
  }),
};
