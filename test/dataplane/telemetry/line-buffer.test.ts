/** Log lines that are written together: all of them, in their order, none late and none lost at the end. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, mock, test } from 'node:test';
import { LineBuffer } from '../../../dataplane/telemetry/line-buffer.ts';

/** A destination that notes what it was told. */
function note() {
  const told: string[] = [];
  return {
    told, destroyed: false,
    write(lines: Uint8Array) { told.push(Buffer.from(lines).toString()); },
    flush(done?: () => void) { told.push('flush'); done?.(); },
    flushSync() { told.push('flushSync'); },
  };
}

afterEach(() => mock.timers.reset());

test('lines wait for the timer, again and again', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const output = note();
  const lines = new LineBuffer(output, { writeLength: 100, writeEveryMs: 50 });
  lines.write('a\n');
  mock.timers.tick(30);
  lines.write('b\n');
  assert.deepEqual(output.told, []);
  mock.timers.tick(20);
  assert.deepEqual(output.told, ['a\nb\n', 'flush']);
  mock.timers.tick(500);
  assert.equal(output.told.length, 2);
});

test('but not when there are many', () => {
  const output = note();
  const lines = new LineBuffer(output, { writeLength: 10, writeEveryMs: 1e6 });
  for (const line of ['123456\n', '789\n', 'x\n']) lines.write(line);
  assert.deepEqual(output.told, ['123456\n789\n', 'flush']);
  lines.flushSync();
  assert.deepEqual(output.told.slice(2), ['x\n', 'flushSync']);
});

test('text of any length and in any writing stays whole', () => {
  const output = note();
  const lines = new LineBuffer(output, { writeLength: 64, writeEveryMs: 1e6 });
  const written = ['ä'.repeat(5000), '𝄞'.repeat(70), '语'.repeat(3000), 'x'].map((text) => `${text}\n`);
  for (const line of written) lines.write(line);
  lines.flushSync();
  assert.equal(output.told.filter((text) => !text.startsWith('flush')).join(''), written.join(''));
});

test('what was handed on stays as it is while more is collected', () => {
  const handedOn: Uint8Array[] = [];
  const lines = new LineBuffer({ ...note(), write: (bytes) => handedOn.push(bytes) }, { writeLength: 4, writeEveryMs: 1e6 });
  for (const line of ['one\n', 'two\n', 'six\n']) lines.write(line);
  assert.deepEqual(handedOn.map((bytes) => Buffer.from(bytes).toString()), ['one\n', 'two\n', 'six\n']);
});

test('a destination that has ended is told nothing, and who waits goes on', () => {
  const output = { ...note(), destroyed: true };
  const lines = new LineBuffer(output, { writeLength: 10, writeEveryMs: 1e6 });
  lines.write('a line longer than that\n');
  let done = false;
  lines.flush(() => { done = true; });
  lines.flushSync();
  assert.deepEqual([output.told, done], [[], true]);
});

const LOG = join(import.meta.dirname, '..', '..', '..', 'dataplane', 'telemetry', 'log.ts');

for (const end of ['process.exit(0)', 'undefined'])
  test(`nothing is lost at the end of a process: ${end}`, () => {
    const script = `import { createLogger } from ${JSON.stringify(LOG)}; const log = createLogger({ to: process }); for (let i = 0; i < 2000; i++) log.info({ i }, 'x'.repeat(100)); ${end};`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', maxBuffer: 2 ** 24 });
    const seen = out.trimEnd().split('\n').map((line) => JSON.parse(line).i);
    assert.deepEqual(seen, Array.from({ length: 2000 }, (_none, i) => i));
  });
