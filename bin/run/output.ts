/** Standard output, to which this process writes its log, and what its metrics say about the process. */
import { openLogDestination } from '../../dataplane/telemetry/log-destination.ts';
import type { LogDestination } from '../../dataplane/telemetry/log-destination.ts';
import type { ProcessStats } from '../../dataplane/telemetry/process-metrics.ts';

let output: LogDestination | undefined;

/** The one destination of all of the process's loggers. The rest is written when the process exits. */
export function standardOutput(): LogDestination {
  if (output) return output;
  // Node.js sets a pipe to non-blocking when it makes a stream of it
  const opened = openLogDestination(process.stdout.fd);
  process.on('exit', () => opened.end());
  return (output = opened);
}

export const PROCESS_STATS: ProcessStats = {
  versions: process.versions,
  cpuUsage: () => process.cpuUsage(),
  memoryUsage: () => process.memoryUsage(),
  droppedLogLines: () => standardOutput().dropped,
};
