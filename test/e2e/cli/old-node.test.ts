/** A start with a too old Node is refused with a clear message, not with a syntax error. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const MGW = join(ROOT, 'bin/mgw.js');

const as = (version: string): string =>
  `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ` +
  `...process.versions, node: '${version}' } })`;

describe('a Node that is too old', () => {
  it('gets one line as the error', async () => {
    const failed: unknown = await promisify(execFile)(process.execPath, [
      '--import',
      as('20.19.0'),
      MGW,
      '--version',
    ]).catch((error: unknown) => error);
    assert.ok(failed instanceof Error && 'stderr' in failed && 'code' in failed);
    assert.equal(failed.code, 1);
    assert.match(
      String(failed.stderr),
      /^Model Gateway runs on Node 26 or newer, .*node_modules\/\.bin\/node bin\/mgw\.js\n$/,
    );
  });

  it('is not assumed for the installed version or a newer one', async () => {
    for (const version of [process.versions.node, '27.0.0'])
      assert.equal(
        (await promisify(execFile)(process.execPath, ['--import', as(version), MGW, '--version'])).stderr,
        '',
      );
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: { node: string };
    };
    assert.match(dependencies.node, /^26\./);
  });

  it('can parse the code up to that line: no syntax newer than Node 20, and nothing loaded before', () => {
    assert.doesNotMatch(readFileSync(MGW, 'utf8'), /^import /m);
  });
});
