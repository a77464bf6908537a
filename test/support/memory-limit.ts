/** Support: a control group that ends a process when it takes more memory than a container may. */
import { mkdir, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface MemoryLimit {
  add(pid: number): Promise<void>;
  /** Call it when the processes have ended. */
  remove(): Promise<void>;
}

/** Undefined if this machine does not let us make one, as on a developer's own without root. */
export async function memoryLimit(name: string, bytes: number): Promise<MemoryLimit | undefined> {
  const first = '/sys/fs/cgroup/memory';
  const isFirstVersion = await stat(first).then(
    () => true,
    () => false,
  );
  const group = join(isFirstVersion ? first : '/sys/fs/cgroup', name);
  try {
    await mkdir(group);
    await writeFile(join(group, isFirstVersion ? 'memory.limit_in_bytes' : 'memory.max'), String(bytes));
  } catch {
    await rmdir(group).catch(() => undefined); // there is none, or it is of no use
    return undefined;
  }
  return {
    add: (pid) => writeFile(join(group, 'cgroup.procs'), String(pid)),
    remove: () => rmdir(group),
  };
}
