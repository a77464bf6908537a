/** The heap of Node.js follows the memory limit of the container, by the flags of the chart and in a real cgroup. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, constants, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'vitest';
import { needHelm } from '../../support/helm.ts';
import { TESTDATA, podTemplates, renderAll } from './situations.ts';

const helm = await needHelm();
const MIB = 2 ** 20;
/** Of the second one V8 by itself would take 4 GiB. */
const LIMITS_MIB = [512, 10 * 1024];
/** A young generation and what V8 rounds up. */
const BEYOND_HALF_MIB = 250;

interface Hierarchy {
  readonly folder: string;
  readonly limitFile: string;
}

/** Where a cgroup with a memory limit can be made: of version 1 or 2. */
async function findHierarchy(): Promise<Hierarchy | undefined> {
  for (const hierarchy of [
    { folder: '/sys/fs/cgroup/memory', limitFile: 'memory.limit_in_bytes' },
    { folder: '/sys/fs/cgroup', limitFile: 'memory.max' },
  ]) {
    const trial = join(hierarchy.folder, `mgw-heap-trial-${process.pid}`);
    try {
      await mkdir(trial);
      await access(join(trial, hierarchy.limitFile), constants.W_OK);
      return hierarchy;
    } catch {
      continue;
    } finally {
      await rmdir(trial).catch(() => undefined);
    }
  }
  return undefined;
}

const hierarchy = await findHierarchy();

/** In MiB, of a Node.js that runs under a memory limit. */
async function heapLimit({ folder, limitFile }: Hierarchy, limitMib: number, options: string): Promise<number> {
  const cgroup = join(folder, `mgw-heap-${process.pid}`);
  await mkdir(cgroup);
  try {
    await writeFile(join(cgroup, limitFile), String(limitMib * MIB));
    const { stdout } = await promisify(execFile)(
      'sh',
      [
        '-ec',
        'echo $$ > "$0/cgroup.procs"; exec "$@"',
        cgroup,
        process.execPath,
        '--print',
        'v8.getHeapStatistics().heap_size_limit',
      ],
      { env: { ...process.env, NODE_OPTIONS: options } },
    );
    return Number(stdout) / MIB;
  } finally {
    await rmdir(cgroup);
  }
}

describe.skipIf(helm.skip || !hierarchy)('the heap of Node.js', () => {
  it('is half of the memory limit of an operator and of a proxy, whatever that is', async () => {
    assert.ok(hierarchy);
    const objects = await renderAll(helm, {
      name: 'defaults',
      valuesFile: join(TESTDATA, 'defaults.values.yaml'),
      only: [],
    });
    const containers = podTemplates(objects).flatMap(({ template }) => template.spec.containers);
    for (const name of ['operator', 'dataplane']) {
      const { env } = containers.find((each) => each.name === name);
      const options = env.find((each: { name: string }) => each.name === 'NODE_OPTIONS').value;
      for (const limitMib of LIMITS_MIB) {
        const half = Math.min(limitMib, totalmem() / MIB) / 2;
        const heap = await heapLimit(hierarchy, limitMib, options);
        assert.ok(heap >= half && heap < half + BEYOND_HALF_MIB, `${name} with ${limitMib} MiB: ${heap} MiB`);
      }
    }
  });
});
