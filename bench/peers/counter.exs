# The counter as a GenServer. Prints, by its arguments: microseconds of a call, of a start with its first
# call, and bytes of a process; a line of JSON for each round.
defmodule Counter do
  use GenServer
  def init(count), do: {:ok, count}
  def handle_call({:add, by}, _from, count), do: {:reply, count + by, count + by}
end

defmodule Bench do
  def timed(count, act) do
    {took, _} = :timer.tc(fn -> Enum.each(1..count, act) end)
    took / count
  end

  def start do
    {:ok, pid} = GenServer.start(Counter, 0)
    1 = GenServer.call(pid, {:add, 1})
    pid
  end
end

[rounds, calls, actors] = Enum.map(System.argv(), &String.to_integer/1)
one = Bench.start()

for round <- 0..rounds do
  call = Bench.timed(calls, fn _ -> GenServer.call(one, {:add, 1}) end)
  before = :erlang.memory(:processes)
  {took, pids} = :timer.tc(fn -> for _ <- 1..actors, do: Bench.start() end)
  bytes = (:erlang.memory(:processes) - before) / actors
  Enum.each(pids, &GenServer.stop/1)
  if round > 0, do: IO.puts(~s({"call":#{call},"spawn":#{took / actors},"bytes":#{bytes}}))
end
