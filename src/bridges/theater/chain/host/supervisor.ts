import { bytes, items, bytesOrNull, text } from "../values.ts";
import type { HostInterface } from "./told.ts";

const supervisorFailure = (operation: string, child: string | null, message: string | undefined) => ({
  Error: { operation, child_id: child, message },
});
const SUPERVISOR_FAMILY = "Supervisor";

export const SUPERVISOR: HostInterface = {
  spawn: ({ args: [manifest], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { SpawnChildCall: { manifest_path: text(manifest) } },
    returned: { SpawnChildResult: { child_id: text(ok), success: true } },
    failed: supervisorFailure("spawn", null, error),
  }),
  resume: ({ args: [manifest, state], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { ResumeChildCall: { manifest_path: text(manifest), initial_state: bytesOrNull(state) } },
    returned: { ResumeChildResult: { child_id: text(ok), success: true } },
    failed: supervisorFailure("resume", null, error),
  }),
  "list-children": ({ ok }) => ({
    family: SUPERVISOR_FAMILY,
    called: { ListChildrenCall: {} },
    returned: { ListChildrenResult: { children_count: items(ok).length, success: true } },
  }),
  "stop-child": ({ args: [child], error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { StopChildCall: { child_id: text(child) } },
    returned: { StopChildResult: { child_id: text(child), success: true } },
    failed: supervisorFailure("stop-child", text(child), error),
  }),
  "restart-child": ({ args: [child], error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { RestartChildCall: { child_id: text(child) } },
    returned: { RestartChildResult: { child_id: text(child), success: true } },
    failed: supervisorFailure("restart-child", text(child), error),
  }),
  "get-child-state": ({ args: [child], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { GetChildStateCall: { child_id: text(child) } },
    returned: { GetChildStateResult: { child_id: text(child), state_size: bytes(ok).length, success: true } },
    failed: supervisorFailure("get-child-state", text(child), error),
  }),
  "get-child-events": ({ args: [child], ok, error }) => ({
    family: SUPERVISOR_FAMILY,
    called: { GetChildEventsCall: { child_id: text(child) } },
    returned: { GetChildEventsResult: { child_id: text(child), events_count: items(ok).length, success: true } },
    failed: supervisorFailure("get-child-events", text(child), error),
  }),
};
