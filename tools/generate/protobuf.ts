/** The TypeScript code of the .proto files, as `buf generate` makes it. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The texts of `paths`, which this template of buf makes; made aside so that nothing is overwritten. */
export async function protobufTexts(
  root: string,
  template: string,
  paths: readonly string[],
): Promise<{ path: string; text: string }[]> {
  const out = await mkdtemp(join(tmpdir(), 'protobuf-'));
  try {
    await run(join(root, 'node_modules/.bin/buf'), ['generate', '--template', template, '--output', out], {
      cwd: root,
    });
    return await Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(out, path), 'utf8') })));
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
