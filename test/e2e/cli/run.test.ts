/** `mgw run` for newcomers and for operators of machines: its output, its refusals and its end. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'vitest';
import { mgw, startMgw, tempFolder } from '../../support/cli.ts';
import type { RunningCli } from '../../support/cli.ts';

const ROOT = join(import.meta.dirname, '../../..');
const QUICKSTART = join(ROOT, 'docs', 'examples', 'quickstart');
const ANSWERS = /"address":"(http:\S+?)","admin":"(http:\S+?)"/;
const execute = promisify(execFile);

/** Ports that no other test uses. */
const FREE_PORTS = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];

/** A copy of the quickstart whose routes lead to this provider. */
async function quickstart(providerUrl: string): Promise<Awaited<ReturnType<typeof tempFolder>>> {
  const folder = await tempFolder();
  await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
  await pointTo(folder.path, 'http://127.0.0.1:4010', providerUrl);
  return folder;
}

async function pointTo(folder: string, from: string, to: string): Promise<void> {
  const file = join(folder, 'manifests', 'platform.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll(from, to));
}

async function startDemo(): Promise<{ readonly cli: RunningCli; readonly url: string } & AsyncDisposable> {
  const cli = startMgw(['demo-provider', '--listen', '127.0.0.1:0']);
  const [, url = ''] = await cli.until(/the demo provider is listening on (\S+)/);
  return { cli, url, [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose]() };
}

async function end(cli: RunningCli): Promise<number | null> {
  cli.kill('SIGTERM');
  return (await cli.finished).exitCode;
}

async function addressOf(cli: RunningCli): Promise<{ readonly url: string; readonly adminUrl: string }> {
  const [, url = '', adminUrl = ''] = await cli.until(ANSWERS);
  return { url, adminUrl };
}

const chat = (url: string, key: string, content: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content }] }),
    ...(signal ? { signal } : {}),
  });

/** Reads the key from a file of the data folder; output that is not a terminal never contains it. */
async function keyOf(path: string): Promise<string> {
  return /sk-\w{48}/.exec(await readFile(path, 'utf8'))?.[0] ?? '';
}

function keyIn(folder: string, name = 'first'): Promise<string> {
  return keyOf(join(folder, 'data', 'secrets', 'team-a', `${name}-key.yaml`));
}

describe('mgw run --hello', () => {
  it("prints the key's file, and curl and SDK examples that work at once; prints no secret into a pipe", async () => {
    await using demo = await startDemo();
    await using folder = await quickstart(demo.url);
    const args = ['run', '--config', 'manifests', '--data', 'data', '--hello', ...FREE_PORTS];

    await using first = startMgw(args, { cwd: folder.path });
    const { url, adminUrl } = await addressOf(first);
    await first.until(/Your key is in data\/secrets\/team-a\/first-key\.yaml\.\n/);
    const key = await keyIn(folder.path);
    await first.until(/message\.content\[0\]\.text\);\n/);
    await tryPrinted(first.stdout(), folder.path);
    assert.equal((await fetch(`${adminUrl}/readyz`)).status, 200);
    assert.equal((await fetch(`${url}/pricing.json`)).status, 200);
    const keyFile = join(folder.path, 'data', 'secrets', 'team-a', 'first-key.yaml');
    assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
    assert.equal((await stat(join(folder.path, 'data'))).mode & 0o077, 0);
    assert.equal(await end(first), 0);
    assert.equal(first.stderr(), '');
    const logged = first
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{"level"'));
    assert.ok(logged.length >= 4);
    assert.ok(logged.length > 0 && !first.stdout().includes(key), 'the key is in a redirected output');

    await using again = startMgw(args, { cwd: folder.path });
    await again.until(/Your key is in data\/secrets\/team-a\/first-key\.yaml\.\n/);
    await again.until(/message\.content\[0\]\.text\);\n/);
    assert.ok(!again.stdout().includes(key), 'the key is printed a second time');
    await tryPrinted(again.stdout(), folder.path);
    assert.equal(await end(again), 0);
    assert.equal(await end(demo.cli), 0);
  });

  /** Runs the calls exactly as printed. */
  async function tryPrinted(printed: string, cwd: string): Promise<void> {
    const unindented = printed.replaceAll(/^ {2}/gm, '');
    const [curl = '', spending = ''] = unindented.match(/^curl (?:\\\n|[^\n])*/gm) ?? [];
    assert.match((await execute('sh', ['-c', `${curl} -s`], { cwd })).stdout, /Hello there!/);
    assert.match((await execute('sh', ['-c', `${spending} -s`], { cwd })).stdout, /"spent_usd":"0\.0\d+"/);
    const script = unindented.slice(unindented.indexOf("import OpenAI from 'openai';"));
    await writeFile(join(cwd, 'try.mjs'), script.slice(0, script.indexOf('.text);') + '.text);'.length));
    if (!existsSync(join(cwd, 'node_modules'))) await symlink(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
    const command = /then {2}((?:MGW_KEY=.*? )?node try\.mjs)/.exec(printed)?.[1] ?? '';
    const { stdout } = await execute('sh', ['-c', command], {
      cwd,
      env: { ...process.env, PATH: `${join(ROOT, 'node_modules', '.bin')}:${process.env['PATH']}` },
    });
    assert.match(stdout, /Hello there![\s\S]*The ledger agrees\./);
  }

  it('runs the demo provider in the same process', async () => {
    await using folder = await tempFolder();
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    await using cli = startMgw(['run', ...FREE_PORTS, '--with-demo-provider', '127.0.0.1:0'], {
      cwd: folder.path,
      env: { MGW_CONFIG: 'manifests', MGW_HELLO: '1', MGW_LOG_LEVEL: 'warn' },
    });
    const [, demoUrl = ''] = await cli.until(/Provider +(http:\S+), a demo/);
    const [, keyFile = ''] = await cli.until(/Your key is in (\S+)\.\n/);
    const key = await keyOf(join(folder.path, keyFile));
    const [, url = ''] = await cli.until(/SDKs +(http:\S+)\/v1/);
    await pointTo(folder.path, 'http://127.0.0.1:4010', demoUrl);
    let text = '';
    // An edit is in force within a second; until then the call fails, since nothing listens at the old address.
    for (const startMs = performance.now(); !text.includes('[DONE]') && performance.now() - startMs < 10_000;)
      text = await (await chat(url, key, 'say: new')).text();
    assert.match(text, /"content":"new"/);
    assert.equal(await end(cli), 0);
    // Without --data, the folder is beside the manifests, and must not be committed.
    assert.deepEqual(
      (await readdir(join(folder.path, 'manifests.mgw-data'))).filter((name) => !name.startsWith('ledger')),
      ['.gitignore', 'activity.db', 'gateway-key', 'secrets'],
    );
  });
});

describe('mgw run --console', () => {
  it('prints the file of the admin token, which opens the console, and no token into a pipe', async () => {
    await using folder = await tempFolder();
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    const args = ['run', '--config', 'manifests', '--console', '127.0.0.1:0', ...FREE_PORTS];
    await using first = startMgw([...args, '--hello'], { cwd: folder.path });
    const [, url = '', file = ''] = await first.until(/Console +(http:\S+) .* in (\S+)\n/);
    const token = (await readFile(join(folder.path, file), 'utf8')).trim();
    assert.match(token, /^mgw-[\w-]{43}$/);
    const signIn = (shown: string): Promise<Response> =>
      fetch(`${url}/sign-in`, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin: url },
        body: new URLSearchParams({ token: shown }),
      });
    assert.equal((await signIn(`${token}x`)).status, 422);
    const answer = await signIn(token);
    assert.equal(answer.headers.get('location'), '/keys');
    const keys = await fetch(`${url}/keys`, {
      headers: { cookie: (answer.headers.getSetCookie()[0] ?? '').split(';', 1)[0] ?? '' },
    });
    assert.match(await keys.text(), /first/);
    assert.equal(await end(first), 0);
    assert.ok(!first.stdout().includes(token), 'the token is in a redirected output');

    await using second = startMgw(args, { cwd: folder.path });
    await addressOf(second);
    await second.until(/the console is listening/);
    assert.equal(await end(second), 0);
    assert.ok(!second.stdout().includes(token) && !second.stderr().includes(token));
  });

  it('is skipped if its default port is in use, and fails if a requested port is', async () => {
    await using folder = await tempFolder();
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    const taken = createServer();
    // or another program uses it already
    await new Promise<void>((resolve) => {
      taken.once('error', () => resolve()).listen(8081, '127.0.0.1', resolve);
    });
    try {
      await using cli = startMgw(['run', '--config', 'manifests', ...FREE_PORTS], {
        cwd: folder.path,
        env: { MGW_CONSOLE: '' },
      });
      await addressOf(cli);
      await cli.until(/the console is off: its port is in use/);
      assert.equal(await end(cli), 0);
      const { exitCode, stderr } = await mgw(
        ['run', '--config', 'manifests', '--console', '127.0.0.1:8081', ...FREE_PORTS],
        { cwd: folder.path },
      );
      assert.equal(exitCode, 1);
      assert.match(stderr, /--console 127\.0\.0\.1:8081: the port is in use by another process/);
    } finally {
      taken.close();
    }
  });

  it('reports what is wrong with a given token', async () => {
    await using folder = await tempFolder({ 'data/console/admin-token': 'short\n' });
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    const { exitCode, stderr } = await mgw(
      ['run', '--config', 'manifests', '--data', 'data', '--console', '127.0.0.1:0', ...FREE_PORTS],
      { cwd: folder.path },
    );
    assert.equal(exitCode, 1);
    assert.match(stderr, /^\S+data\/console\/admin-token must hold one line of at least 32 characters/m);
    assert.ok(!stderr.includes('    at '), stderr);
  });

  it('is off by default', async () => {
    await using folder = await tempFolder();
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    await using cli = startMgw(['run', '--config', 'manifests', '--no-console', ...FREE_PORTS], {
      cwd: folder.path,
      env: { MGW_CONSOLE: '' },
    });
    await addressOf(cli);
    assert.equal(await end(cli), 0);
    assert.ok(!cli.stdout().includes('console') && !existsSync(join(folder.path, 'manifests.mgw-data', 'console')));
  });
});

describe('mgw run, at the start', () => {
  it('reports every mistake in the manifests with file and line, and starts nothing', async () => {
    await using folder = await tempFolder({
      'm/a.yaml':
        'apiVersion: modelgateway.dev/v1alpha1\nkind: Group\nmetadata: {name: a}\nspec:\n  type: ' +
        'Sideways\n  priceRatio: "-1"\n',
      'm/b.yaml':
        'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: {name: b, namespace: b}\nspec:\n  ' +
        'grants:\n  - {name: x, usd: 5}\n',
      'm/c.yaml': 'kind: [\n',
    });
    const { exitCode, stdout, stderr } = await mgw(['run', '--config', join(folder.path, 'm'), ...FREE_PORTS]);
    assert.equal(exitCode, 1);
    assert.doesNotMatch(stdout, /"address"/);
    for (const place of ['a.yaml:5', 'a.yaml:6', 'b.yaml:6', 'c.yaml:\\d'])
      assert.match(stderr, new RegExp(`^\\S*/m/${place}(:\\d+)?: error: `, 'm'));
    assert.match(stderr, /^\d+ errors in the manifests: the gateway was not started$/m);
    assert.doesNotMatch(stderr, /\n {4}at /);
  });

  it('reports a missing folder', async () => {
    await using folder = await tempFolder();
    const config = join(folder.path, 'missing');
    assert.deepEqual(await mgw(['run', '--config', config]), {
      exitCode: 1,
      stdout: '',
      stderr: `--config ${config}: no such folder\n`,
    });
    assert.deepEqual(await readdir(folder.path), []);
  });

  it("takes others' rights from all files of a data folder that existed", async () => {
    await using folder = await tempFolder();
    await cp(QUICKSTART, join(folder.path, 'manifests'), { recursive: true });
    const data = join(folder.path, 'data');
    const args = ['run', '--config', join(folder.path, 'manifests'), '--data', data, '--console', '127.0.0.1:0'];
    const files = async (): Promise<readonly string[]> =>
      (await readdir(data, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile() && entry.name !== '.gitignore')
        .map(({ parentPath, name }) => join(parentPath, name));
    const modes = async (): Promise<ReadonlySet<string>> =>
      new Set(await Promise.all((await files()).map(async (path) => ((await stat(path)).mode & 0o777).toString(8))));
    await using first = startMgw([...args, ...FREE_PORTS]);
    await first.until(/key of ApiKey team-a\/first: see/);
    await first.until(/the console is listening/);
    assert.equal(await end(first), 0);
    assert.ok((await files()).length >= 6);
    for (const path of await files()) await chmod(path, 0o644);
    await using second = startMgw([...args, ...FREE_PORTS]);
    await addressOf(second);
    await second.until(/the console is listening/);
    assert.deepEqual(await modes(), new Set(['600']));
    assert.equal(await end(second), 0);
  });

  it('reports a port that is in use', async () => {
    await using folder = await tempFolder();
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => {
      taken.once('listening', resolve);
    });
    const address = taken.address();
    const place = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    const common = ['run', '--config', QUICKSTART, '--data', folder.path];
    for (const [flag, args] of [
      ['--listen', [...common, '--listen', place, '--admin', '127.0.0.1:0']],
      ['--admin', [...common, '--listen', '127.0.0.1:0', '--admin', place]],
      ['--with-demo-provider', [...common, ...FREE_PORTS, '--with-demo-provider', place]],
      ['--listen', ['demo-provider', '--listen', place]],
    ] as const) {
      const { exitCode, stderr } = await mgw(args);
      assert.deepEqual(
        [exitCode, stderr],
        [1, `${flag} ${place}: the port is in use by another process. Choose another address with ${flag}.\n`],
      );
    }
    taken.close();
  });

  it('reports a variable that names no forward proxy, and does not repeat it', async () => {
    await using folder = await tempFolder();
    const args = ['run', '--config', QUICKSTART, '--data', folder.path, ...FREE_PORTS];
    const { exitCode, stdout, stderr } = await mgw(args, { env: { HTTPS_PROXY: 'me:s3cret@proxy.test' } });
    assert.deepEqual(
      [exitCode, stderr],
      [1, 'HTTPS_PROXY: not the URL of a forward proxy, such as http://proxy.example.com:3128\n'],
    );
    assert.doesNotMatch(stdout, /s3cret/);
  });

  it('reports a path of the console that is no path, or that of a page', async () => {
    await using folder = await tempFolder();
    const args = ['run', '--config', QUICKSTART, '--data', folder.path, ...FREE_PORTS, '--console', '127.0.0.1:0'];
    for (const [url, exitCode, told] of [
      ['https://me@gateway.test/llm', 64, /It must be an http or https URL with a host and an optional path/],
      ['https://gateway.test/llm?a=1', 64, /and an optional path/],
      ['https://gateway.test/llm"x', 64, /and an optional path/],
      ['https://gateway.test/keys/console', 1, /--console-url: the console cannot be below \/keys/],
    ] as const) {
      const ended = await mgw([...args, '--console-url', url]);
      assert.equal(ended.exitCode, exitCode, url);
      assert.match(ended.stderr, told);
    }
  });

  it('reports that another process uses the ledger', async () => {
    await using folder = await tempFolder();
    const args = ['run', '--config', QUICKSTART, '--data', folder.path, ...FREE_PORTS];
    await using first = startMgw(args);
    await addressOf(first);
    const second = await mgw(args);
    assert.equal(second.exitCode, 1);
    assert.match(second.stderr, /^cannot open the ledger|^the ledger/);
    assert.match(second.stderr, /ledger\.db is in use by another process/);
    assert.match(second.stderr, /^Stop the other process, or choose another location/m);
    assert.doesNotMatch(second.stderr, /\n {4}at /);
    assert.equal(await end(first), 0);
  });

  it('uses an external ledger', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'books', 'own.db');
    await using cli = startMgw([
      'run',
      '--config',
      QUICKSTART,
      '--data',
      join(folder.path, 'data'),
      '--ledger',
      `file:${path}`,
      '--ledger-sync',
      'full',
      ...FREE_PORTS,
    ]);
    await addressOf(cli);
    assert.match(cli.stdout(), /key of ApiKey team-a\/first: see \S+first-key\.yaml\n/);
    assert.equal(await end(cli), 0);
    assert.ok(existsSync(path));
    assert.ok(!existsSync(join(folder.path, 'data', 'ledger.db')));
  });
});

describe('mgw run, while it runs', () => {
  it('keeps the last good state after a broken edit, reports the place, and applies the next good one', async () => {
    await using demo = await startDemo();
    await using folder = await quickstart(demo.url);
    await using cli = startMgw([
      'run',
      '--config',
      join(folder.path, 'manifests'),
      '--data',
      join(folder.path, 'data'),
      ...FREE_PORTS,
    ]);
    const { url } = await addressOf(cli);
    await cli.until(/key of ApiKey team-a\/first: see/);
    const key = await keyIn(folder.path);
    await folder.write(
      'manifests/more.yaml',
      'apiVersion: modelgateway.dev/v1alpha1\nkind: Account\nmetadata: ' +
        '{name: b, namespace: b}\nspec:\n  grants: 7\n',
    );
    await cli.until(/more\.yaml:5(:\d+)?: error: .*spec\.grants/);
    await cli.until(/the last good configuration stays in effect/);
    assert.equal((await chat(url, key, 'hello')).status, 200);
    await folder.write(
      'manifests/more.yaml',
      'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ' +
        'second, namespace: team-a}\nspec:\n  groupRef: {name: standard}\n  accountRef: {name: team-a}\n',
    );
    await cli.until(/the manifests are valid again/);
    await cli.until(/key of ApiKey team-a\/second: see/);
    const secondKey = await keyIn(folder.path, 'second');
    assert.match(await (await chat(url, secondKey, 'say: second')).text(), /second/);
    await folder.write(
      'manifests/lost.yaml',
      'apiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata: {name: ' +
        'lost, namespace: team-a}\nspec:\n  groupRef: {name: nowhere}\n  accountRef: {name: team-a}\n',
    );
    await cli.until(/warning: ApiKey team-a\/lost: .*nowhere/);
    assert.equal(await end(cli), 0);
    assert.equal(await end(demo.cli), 0);
  });

  it('completes and bills a running stream on SIGTERM, and refuses new calls', async () => {
    await using demo = await startDemo();
    await using folder = await quickstart(demo.url);
    const args = [
      'run',
      '--config',
      join(folder.path, 'manifests'),
      '--data',
      join(folder.path, 'data'),
      ...FREE_PORTS,
    ];
    await using cli = startMgw(args);
    const { url } = await addressOf(cli);
    await cli.until(/key of ApiKey team-a\/first: see/);
    const key = await keyIn(folder.path);
    const response = await chat(url, key, 'long 150');
    const reader = response.body?.getReader();
    assert.equal((await reader?.read())?.done, false);
    cli.kill('SIGTERM');
    await cli.until(/shutting down: waiting for running calls/);
    const refused = await chat(url, key, 'hello').then(
      (late) => late.status,
      () => 'no connection',
    );
    assert.ok(refused === 503 || refused === 'no connection', String(refused));
    let text = '';
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
      text += Buffer.from(part.value).toString();
    assert.ok(text.trimEnd().endsWith('data: [DONE]'));
    assert.equal((await cli.finished).exitCode, 0);
    await using next = startMgw(args);
    const address = await addressOf(next);
    const spent = await (await fetch(`${address.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } })).text();
    // 6 tokens in at $2.50 and 150 out at $10 a million.
    assert.match(spent, /"spent_usd":"0\.001515"/);
    assert.equal(await end(next), 0);
    assert.equal(await end(demo.cli), 0);
  });

  it('serves when node restarts it at each edit of the code, as npm run dev does', async () => {
    await using demo = await startDemo();
    await using folder = await quickstart(demo.url);
    await using cli = startMgw(
      ['run', '--config', join(folder.path, 'manifests'), '--data', join(folder.path, 'data'), ...FREE_PORTS],
      { nodeFlags: ['--watch'] },
    );
    const { url } = await addressOf(cli);
    await cli.until(/key of ApiKey team-a\/first: see/);
    const key = await keyIn(folder.path);
    assert.equal((await chat(url, key, 'hello')).status, 200);
    cli.kill('SIGTERM');
    await cli.until(/"msg":"ended"/);
    await cli.finished;
    assert.equal(await end(demo.cli), 0);
  });

  it('exits at once with 1 on a second signal', async () => {
    await using demo = await startDemo();
    await using folder = await quickstart(demo.url);
    await using cli = startMgw([
      'run',
      '--config',
      join(folder.path, 'manifests'),
      '--data',
      join(folder.path, 'data'),
      ...FREE_PORTS,
    ]);
    const { url } = await addressOf(cli);
    await cli.until(/key of ApiKey team-a\/first: see/);
    const key = await keyIn(folder.path);
    const control = new AbortController();
    const response = await chat(url, key, 'long 100 and then stall', control.signal);
    await response.body?.getReader().read();
    cli.kill('SIGINT');
    await cli.until(/shutting down: waiting for running calls/);
    // A signal within half a second counts as the same Ctrl-C, passed on by npm; so the second one is repeated.
    const repeated = setInterval(() => cli.kill('SIGINT'), 100);
    assert.equal((await cli.finished).exitCode, 1);
    clearInterval(repeated);
    assert.match(cli.stderr(), /SIGINT again: exiting at once/);
    control.abort();
    assert.equal(await end(demo.cli), 0);
  });
});

describe('mgw demo-provider', () => {
  it('logs requests, and exits with 0 on SIGINT', async () => {
    await using demo = await startDemo();
    const { cli, url } = demo;
    assert.equal((await fetch(`${url}/v1/models`)).status, 200);
    await cli.until(/GET \/v1\/models 200/);
    cli.kill('SIGINT');
    assert.equal((await cli.finished).exitCode, 0);
  });
});
