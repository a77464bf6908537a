/** The program out of one file: made at an installation, taken as long as it is what the modules say, and nothing else than they are. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import { inheritedEnvironment } from '../support/cli.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PARTS = ['bin', 'crds', 'dataplane', 'demo', 'operator', 'web', 'docs/examples/quickstart', 'package.json'];
const VALIDATE = 'bin/commands/validate.ts';
const HELP = ['validate', '--help'];
const PREPARE = ['bin/prepare.js'];
const NPMS_LIST = 'node_modules/.package-lock.json';

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
}

interface List {
  readonly name: string;
  readonly modules: readonly [path: string, ...numbers: number[]][];
}

/** What the help of a command begins with tells which text runs. */
const reword = (text: string, words: string): string => text.replaceAll(/(?:Says|[XYZ]{4}) what the API server/g, `${words} what the API server`);

describe('the joined program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-joined-'));
  // characters that patterns and replacements give a meaning to
  let root = join(folder, 'check out$$ (1)');
  const kept = (): string => join(root, 'node_modules/.cache/joined', readdirSync(join(root, 'node_modules/.cache/joined'))[0] ?? '');
  const keptFile = (ending: string): string => join(kept(), readdirSync(kept()).find((name) => name.endsWith(ending)) ?? 'none');
  const list = (): List => JSON.parse(readFileSync(join(kept(), 'modules.json'), 'utf8')) as List;
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> => {
    return promisify(execFile)(process.execPath, [...args], { cwd: root, env: { ...inheritedEnvironment(), ...env } });
  };
  const mgw = async (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> => (await run(['bin/mgw.js', ...args], env)).stdout;
  const edit = (words: string): void => writeFileSync(join(root, VALIDATE), reword(readFileSync(join(root, VALIDATE), 'utf8'), words));
  /** Has the joined text say something that no module says. */
  const forge = (words: string): void => {
    const path = keptFile('.cjs');
    const text = reword(readFileSync(path, 'utf8'), words);
    writeFileSync(path, text, 'utf8');
    // V8 takes compiled code for any text of the same length
    writeFileSync(keptFile('.compiled'), '');
    writeFileSync(join(kept(), 'modules.json'), JSON.stringify({ ...list(), text: crc32(text), compiled: crc32('') }));
  };
  const joinAnew = async (args: readonly string[] = []): Promise<void> => assert.match((await run([...PREPARE, ...args])).stdout, /^starts load \d{3} modules of the program at once\n$/);

  before(async () => {
    for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true });
    mkdirSync(join(root, 'node_modules'));
    for (const name of readdirSync(join(ROOT, 'node_modules')).filter((each) => each !== '.cache')) symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
    await joinAnew();
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is one file, with the code that a start has compiled, and a list of its modules', () => {
    const { name, modules } = list();
    assert.deepEqual(readdirSync(kept()).sort(), [`${name}.cjs`, `${name}.compiled`, 'modules.json'].sort());
    for (const path of ['bin/main.ts', 'dataplane/pipeline/pipeline.ts', 'operator/translate/translate.ts', 'package.json', 'bin/joined.js', NPMS_LIST]) assert.ok(modules.some(([each]) => each === path), path);
    const text = readFileSync(keptFile('.cjs'), 'utf8');
    assert.match(text, /^\(function \(exports, require, module\) \{\n"use strict";\n/, 'modules are strict');
    assert.doesNotMatch(text, /[^\0-\x7F]/, 'one byte is enough for each of its characters');
    const script = new Script(text, { filename: 'joined.cjs', cachedData: readFileSync(keptFile('.compiled')) });
    assert.equal(script.cachedDataRejected, false);
    const compiledFirst = new Script(text, { filename: 'other.cjs' }).createCachedData();
    assert.ok(compiledFirst.length * 3 < readFileSync(keptFile('.compiled')).length, 'what was compiled while it ran is there too');
  });

  it('serves the pages that the modules serve, to the letter', async () => {
    const page = async (env: Readonly<Record<string, string>>): Promise<string> => {
      const args = ['run', '--config', 'docs/examples/quickstart', '--data', join(folder, `data-${env['MGW_JOINED']}`), '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--no-console'];
      const child = spawn(process.execPath, ['bin/mgw.js', ...args], { cwd: root, env: { ...inheritedEnvironment(), ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
      let said = '';
      for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        said += text;
        if (said.includes('the gateway answers')) break;
      }
      const answer = await fetch(`${/"address":"([^"]+)","admin"/.exec(said)?.[1]}/pricing`);
      const [closed, body] = [once(child, 'close'), await answer.text()];
      child.stdout.resume();
      child.kill('SIGTERM');
      await closed;
      return body;
    };
    const [joined, modules] = [await page({ MGW_JOINED: 'on' }), await page({ MGW_JOINED: 'off' })];
    assert.match(modules, /× model ratio/);
    assert.equal(joined, modules);
  });

  it('is what the modules are, and runs in their place unless it is told not to', async () => {
    for (const args of [['--help'], HELP, ['validate', 'docs/examples/quickstart']]) assert.equal(await mgw(args), await mgw(args, { MGW_JOINED: 'off' }));
    forge('XXXX');
    assert.match(await mgw(HELP), /^XXXX/m);
    assert.match(await mgw(HELP, { MGW_JOINED: 'off' }), /^Says/m);
  });

  it('does not run where a module was edited, replaced by an older one, or is gone', async () => {
    edit('YYYY');
    assert.match(await mgw(HELP), /^YYYY/m);
    await joinAnew();
    assert.equal(readdirSync(kept()).length, 3, 'the one before is gone');
    assert.equal((await run(['bin/mgw.js', ...HELP])).stderr, '');
    forge('XXXX');
    assert.match(await mgw(HELP), /^XXXX/m);
    const now = new Date();
    utimesSync(join(root, VALIDATE), now, new Date(list().modules.find(([path]) => path === VALIDATE)?.[2] ?? 0));
    assert.match(await mgw(HELP), /^YYYY/m, 'the time of a change can be set back, but not the time of this');
    await joinAnew();
    renameSync(join(root, 'dataplane/turn.ts'), join(root, 'dataplane/away.ts'));
    await assert.rejects(mgw(['run', '--config', 'docs/examples/quickstart']), /turn\.ts/);
    renameSync(join(root, 'dataplane/away.ts'), join(root, 'dataplane/turn.ts'));
  });

  it('does not run elsewhere', async () => {
    await joinAnew();
    forge('XXXX');
    const elsewhere = join(folder, 'elsewhere');
    renameSync(root, elsewhere);
    root = elsewhere;
    assert.match(await mgw(HELP), /^YYYY/m, 'what was joined elsewhere has the places of there');
    rmSync(join(root, 'node_modules/.cache'), { recursive: true });
  });

  it('may be made for good, as an image has it', async () => {
    rmSync(join(root, NPMS_LIST)); // only npm keeps one
    await joinAnew(['--fixed']);
    assert.deepEqual(list().modules, []);
    edit('ZZZZ');
    assert.match(await mgw(HELP), /^YYYY/m);
  });

  it('stops no start, whatever is wrong with it', async () => {
    const damages: readonly (() => void)[] = [
      () => writeFileSync(join(kept(), 'modules.json'), ''),
      () => writeFileSync(join(kept(), 'modules.json'), '{"root":1}'),
      () => writeFileSync(keptFile('.cjs'), ''),
      () => writeFileSync(keptFile('.compiled'), readFileSync(keptFile('.compiled')).fill(0, 100_000, 200_000)),
      () => { rmSync(join(root, 'node_modules/.cache/joined'), { recursive: true }); writeFileSync(join(root, 'node_modules/.cache/joined'), ''); },
    ];
    rmSync(join(root, 'node_modules/.cache'), { recursive: true });
    await joinAnew();
    cpSync(join(root, 'node_modules/.cache'), join(folder, 'good'), { recursive: true });
    for (const damage of damages) {
      rmSync(join(root, 'node_modules/.cache'), { recursive: true });
      cpSync(join(folder, 'good'), join(root, 'node_modules/.cache'), { recursive: true });
      assert.equal((await run(['bin/mgw.js', ...HELP])).stderr, '');
      damage();
      assert.match(await mgw(HELP), /^ZZZZ/m, String(damage));
    }
    assert.match((await run(['bin/mgw.js', ...HELP])).stderr, /the joined program is left out \(npm run prepare makes it anew\)/);
    rmSync(join(root, 'node_modules/.cache'), { recursive: true });
    assert.deepEqual(await run(['bin/mgw.js', '--version']), { stdout: await mgw(['--version'], { MGW_JOINED: 'off' }), stderr: '' });
  });

  describe('where it cannot be made', () => {
    const refused = async (why: RegExp): Promise<void> => {
      assert.match((await run(PREPARE)).stderr, why);
      await assert.rejects(run([...PREPARE, '--fixed']), 'an image is not made without it');
      assert.match(await mgw(HELP), /^ZZZZ/m);
    };

    it('says so while a module is edited, and stops no installation', async () => {
      const later = new Date(Date.now() + 3_600_000);
      utimesSync(join(root, VALIDATE), later, later);
      await refused(/^starts load the program's modules one by one, because joining them failed: bin\/commands\/validate\.ts is being edited\n$/);
      utimesSync(join(root, VALIDATE), new Date(), new Date(0));
    });

    it('names a letter that it cannot escape', async () => {
      const path = join(root, 'bin/version.ts');
      const text = readFileSync(path, 'utf8');
      for (const words of ['String.raw`naïve`', '/[a\\–b]/']) {
        writeFileSync(path, `${text}\nexport const odd = ${words};\nglobalThis.odd = odd;\n`);
        await refused(/because joining them failed: a letter beyond ASCII cannot be escaped here: (?:raw`naï|\\–)\n$/);
      }
      writeFileSync(path, text);
    });

    it('leaves out what does not start', async () => {
      const path = join(root, 'bin/run/run.ts');
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.replace('const signals = listenStopSignals();', 'const signals = listenStopSignals();\n  if (flags) throw new Error("it does not start");'));
      await refused(/because joining them failed: a start of it ended with 1: .*it does not start/s);
      assert.ok(!readdirSync(kept()).includes('modules.json'));
      writeFileSync(path, text);
    });

    it('says so where esbuild is missing, or Node is too old', async () => {
      const old = 'data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.0" } })';
      assert.match((await run(['--import', old, ...PREPARE])).stderr, /because joining them failed: this is Node 20\.19\.0\n$/);
      rmSync(join(root, 'node_modules/esbuild'));
      await refused(/because joining them failed: Cannot find package 'esbuild'/);
    });
  });
});
