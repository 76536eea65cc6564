// Owns: tasks: calls that outlive their reply. Does not own: running them.
import type { PageOf, TaskRow } from "../../../src/bridges/console/shapes.ts";
import { asApiError, get, post } from "../api.ts";
import { useResource } from "../resource.ts";
import { Badge } from "../ui/badge.tsx";
import { confirm } from "../ui/confirm.tsx";
import { None } from "../ui/none.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { RequireAbility } from "../ui/require-ability.tsx";
import { Empty, Loaded } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { duration, Time } from "../ui/time.tsx";
import { toast } from "../ui/toasts.tsx";
import { RefreshButton, usePolling } from "./lists/polling.tsx";

/** The newest; the API has no pages of them. */
const SIZE = 500;
const WHAT = "calls that outlive their reply";
const ENDED = new Set(["completed", "failed", "cancelled", "lost"]);
const LOST = "its process ended while it ran: whether it was applied is not known";

export function Tasks() {
  return (
    <RequireAbility ability="tasks" title="Tasks" what={WHAT}>
      <TaskList />
    </RequireAbility>
  );
}

function TaskList() {
  const list = useResource("tasks", (signal) => get<PageOf<TaskRow>>("/tasks", { limit: SIZE }, signal));
  usePolling(list.reload, 2_000);
  const cancel = async ({ id, tool }: TaskRow): Promise<void> => {
    const yes = await confirm({
      title: `Cancel ${tool ?? "this task"}?`,
      text: "Its work gets the signal to stop, and its client sees that it was cancelled. Nothing that it has done is undone.",
      action: "Cancel the task",
      danger: true,
    });
    if (yes === undefined) return;
    try {
      await post(`/tasks/${encodeURIComponent(id)}/cancel`);
      toast("Cancelled the task.");
    } catch (error) {
      toast(asApiError(error).message, "failed");
    }
    list.reload();
  };
  return (
    <>
      <PageHead title="Tasks" what={WHAT}>
        <RefreshButton reload={list.reload} />
      </PageHead>
      <Loaded resource={list} what="tasks">
        {({ items: rows }) =>
          rows.length === 0 ? (
            <Empty title="No tasks">A client starts one by calling a tool as a task, when the tool allows it.</Empty>
          ) : (
            <>
              <Table
                caption="Tasks"
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  { head: "Status", cell: ({ status }) => <Badge word={status} /> },
                  { head: "Tool", cell: ({ tool }) => tool ?? <None /> },
                  { head: "Principal", cell: ({ principal }) => principal ?? <None /> },
                  {
                    head: "Message",
                    fill: true,
                    cell({ message, status }) {
                      const text = status === "lost" ? [message, LOST].filter((part) => part !== undefined).join("; ") : message;
                      return <span title={text}>{text}</span>;
                    },
                  },
                  { head: "Started", wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
                  {
                    head: "Ran for",
                    align: "right",
                    wide: true,
                    cell: ({ createdAt, updatedAt, status }) =>
                      duration(Math.max(0, (ENDED.has(status) ? updatedAt : Date.now()) - createdAt)),
                  },
                  {
                    head: "Actions",
                    align: "right",
                    cell: (row) =>
                      ENDED.has(row.status) || row.earlier === true ? null : (
                        <button type="button" class="small danger" onClick={() => void cancel(row)}>
                          Cancel
                        </button>
                      ),
                  },
                ]}
              />
            </>
          )
        }
      </Loaded>
    </>
  );
}
