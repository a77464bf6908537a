/** The snapshot's TypeScript code, out of its .proto, as `buf generate` makes it. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The text of `path`, made aside so that nothing is overwritten. */
export async function snapshotText(root: string, path: string): Promise<string> {
  const out = await mkdtemp(join(tmpdir(), 'snapshot-'));
  try {
    await run(join(root, 'node_modules/.bin/buf'), ['generate', '--output', out], { cwd: root });
    return await readFile(join(out, path), 'utf8');
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
