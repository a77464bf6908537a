/** Figures of processes and cores from /proc. */
import { readFileSync, readdirSync } from 'node:fs';

/** USER_HZ: 100 on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** CPU seconds that a process, with all of its threads, has used: utime + stime. */
export function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // fields are counted after the name, which may hold anything
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** CPU milliseconds that this process has used. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
}

/** CPU seconds for which a core was busy, with any process. */
export function coreBusySeconds(core: number): number {
  const line = new RegExp(`^cpu${core} (.+)$`, 'm').exec(readFileSync('/proc/stat', 'latin1'))?.[1] ?? '';
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

/** CPU seconds of each thread of a process, by thread id. */
export function threadSeconds(pid: number): Map<string, { readonly name: string; readonly seconds: number }> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const folder = `/proc/${pid}/task/${thread}`;
      const [nanoseconds = '0'] = readFileSync(`${folder}/schedstat`, 'latin1').split(' ');
      return [thread, { name: readFileSync(`${folder}/comm`, 'latin1').trim(), seconds: Number(nanoseconds) / 1e9 }];
    }),
  );
}
