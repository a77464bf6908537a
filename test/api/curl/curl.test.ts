/** curl as newcomers use it, without a content-type: every line here could be in a README. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { chat, message, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import { gate } from '../../support/mock-provider.ts';
import { need } from '../../support/needs.ts';
import {
  anthropicMessage,
  anthropicStream,
  insertAt,
  openaiChat,
  openaiStream,
} from '../../support/provider-answers.ts';
import { Books, CLAUDE, free, GPT, paid } from '../../support/api/sdk.ts';

const curl = await need('curl');
const MAX_BODY_BYTES = 4_000_000;

/** Runs curl with these arguments; returns its output and exit code. It uses no configuration file and no proxy. */
async function run(...args: readonly string[]): Promise<{ exitCode: unknown; out: string; err: string }> {
  const child = spawn(curl.path, ['-q', '-sS', '--noproxy', '*', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = await closed;
  return { exitCode, out, err };
}

/** Runs curl, which must succeed; returns the response, with status line and headers if -i is given. */
async function ok(...args: readonly string[]): Promise<string> {
  const { exitCode, out, err } = await run(...args);
  assert.equal(exitCode, 0, err);
  return out;
}

describe.skipIf(curl.skip)('curl', () => {
  let stack: TestStack;
  let books: Books;
  let folder: string;
  let url: string;

  beforeAll(async () => {
    stack = await startTestStack({ maxBodyBytes: MAX_BODY_BYTES });
    books = new Books(stack);
    folder = await mkdtemp(join(tmpdir(), 'mgw-curl-'));
    ({ url } = stack.gateway);
  });
  afterAll(async () => {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => books.open());
  afterEach(() => books.assertChecked());

  const KEY = ['-H', `Authorization: Bearer ${KEYS.main}`];
  const CHAT = JSON.stringify(chat());
  const SMALL_CHAT = 10n * GPT.input + GPT.output;
  const SMALL_MESSAGE = 10n * CLAUDE.input + CLAUDE.output;

  it('-d without a content-type sends JSON', async () => {
    stack.openai.script(openaiChat());
    stack.anthropic.script(anthropicMessage());
    assert.equal(
      JSON.parse(await ok(`${url}/v1/chat/completions`, ...KEY, '-d', CHAT)).choices[0].message.content,
      'hello',
    );
    assert.equal(
      JSON.parse(await ok(`${url}/v1/messages`, '-H', `x-api-key: ${KEYS.main}`, '-d', JSON.stringify(message())))
        .content[0].text,
      'hello',
    );
    assert.equal((await stack.openai.request(0)).headers['content-type'], 'application/json');
    assert.equal((await stack.anthropic.request(0)).headers['content-type'], 'application/json');
    await books.check(paid(SMALL_CHAT), paid(SMALL_MESSAGE));
  });
  it('--json works, and so does a content-type with a charset or in capitals', async () => {
    stack.openai.script(openaiChat());
    for (const args of [
      ['--json', CHAT],
      ['-d', CHAT, '-H', 'Content-Type: application/json; charset=utf-8'],
      ['-d', CHAT, '-H', 'CONTENT-TYPE: Application/JSON'],
      ['-d', CHAT, '-H', 'Content-Type:'],
    ])
      assert.match(await ok(`${url}/v1/chat/completions`, ...KEY, ...args), /"hello"/);
    await books.check(paid(SMALL_CHAT), paid(SMALL_CHAT), paid(SMALL_CHAT), paid(SMALL_CHAT));
  });
  it('gets /v1/models and /v1/key, also by HEAD', async () => {
    assert.match(await ok(`${url}/v1/models`, ...KEY), /"gpt-model"/);
    assert.match(
      await ok(`${url}/v1/models`, '-H', `x-api-key: ${KEYS.main}`, '-H', 'anthropic-version: 2023-06-01'),
      /"type":"model"/,
    );
    assert.match(await ok(`${url}/v1/key`, ...KEY), /"remaining_usd":"Unlimited"/);
    assert.match(await ok('-I', `${url}/v1/models`, ...KEY), /^HTTP\/1\.1 200 OK\r\n/);
    await books.check(free(), free(), free(), free());
  });
  it('-N prints a stream as it arrives', async () => {
    const waiting = gate();
    stack.openai.script(insertAt(openaiStream(['first', 'second']), 2, waiting));
    const child = spawn(
      curl.path,
      [
        '-q',
        '-sSN',
        '--noproxy',
        '*',
        `${url}/v1/chat/completions`,
        ...KEY,
        '-d',
        JSON.stringify(chat('gpt-model', { stream: true })),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const closed = once(child, 'close');
    let seen = '';
    for await (const piece of child.stdout.setEncoding('utf8')) {
      seen += String(piece);
      if (seen.includes('"first"')) waiting.open();
      else assert.ok(!seen.includes('"second"'));
    }
    assert.deepEqual(await closed, [0, null]);
    assert.ok(seen.includes('"second"') && seen.endsWith('data: [DONE]\n\n'));
    await books.check(paid(SMALL_CHAT + GPT.output));
  });
  it('--data-binary sends a large file with Expect: 100-continue', async () => {
    const file = join(folder, 'large.json');
    await writeFile(
      file,
      JSON.stringify(
        chat('gpt-model', {
          messages: [
            {
              role: 'user',
              content: [
                {
                  type: 'image_url',
                  image_url: { url: `data:image/png;base64,${'A'.repeat(3_000_000)}` },
                },
              ],
            },
          ],
        }),
        null,
        1,
      ),
    );
    stack.openai.script(openaiChat());
    const answer = await ok(
      '-i',
      `${url}/v1/chat/completions`,
      ...KEY,
      '-H',
      'Expect: 100-continue',
      '--data-binary',
      `@${file}`,
    );
    assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    const { headers, body } = await stack.openai.request(0);
    assert.equal(headers.expect, undefined);
    assert.ok(body.length > 3_000_000);
    await books.check(paid(SMALL_CHAT));
  });
  it('sends a chunked body without a content-length', async () => {
    stack.openai.script(openaiChat());
    assert.match(
      await ok(`${url}/v1/chat/completions`, ...KEY, '-H', 'Transfer-Encoding: chunked', '-d', CHAT),
      /"hello"/,
    );
    await books.check(paid(SMALL_CHAT));
  });
  it('gets responses by HTTP/1.0, and a stream that ends with the connection', async () => {
    stack.openai.script(openaiChat(), openaiStream());
    stack.anthropic.script(anthropicStream());
    assert.match(await ok('-0', `${url}/v1/chat/completions`, ...KEY, '-d', CHAT), /"hello"/);
    const stream = await ok(
      '-0',
      '-i',
      `${url}/v1/chat/completions`,
      ...KEY,
      '-d',
      JSON.stringify(chat('gpt-model', { stream: true })),
    );
    assert.doesNotMatch(stream, /transfer-encoding/i);
    assert.ok(stream.endsWith('data: [DONE]\n\n'));
    assert.ok(
      (
        await ok('-0', `${url}/v1/messages`, ...KEY, '-d', JSON.stringify(message('claude-model', { stream: true })))
      ).includes('event: message_stop\n'),
    );
    await books.check(paid(SMALL_CHAT), paid(SMALL_CHAT + GPT.output), paid(SMALL_MESSAGE + CLAUDE.output));
  });
  it('--compressed accepts an uncompressed response', async () => {
    stack.openai.script(openaiChat());
    assert.match(await ok('--compressed', `${url}/v1/chat/completions`, ...KEY, '-d', CHAT), /"hello"/);
    await books.check(paid(SMALL_CHAT));
  });
  it('-u key: and a missing key get 401 with the correct usage', async () => {
    for (const args of [['-u', `${KEYS.main}:`], []]) {
      const answer = await ok('-i', `${url}/v1/chat/completions`, ...args, '-d', CHAT);
      assert.match(answer, /^HTTP\/1\.1 401 /);
      assert.match(answer, /Authorization: Bearer sk-/);
    }
    await books.check(free(401), free(401));
  });
  it('gets 400 with the position if the shell removed the quotes', async () => {
    const answer = await ok(`${url}/v1/chat/completions`, ...KEY, '-d', '{model: gpt-model}');
    assert.match(JSON.parse(answer).error.message, /not valid JSON: unexpected .*(?:line 1|position|column)/);
    await books.check(free(400));
  });
  for (const expect of ['Expect:', 'Expect: 100-continue']) {
    it(`gets the error for a too large body with "${expect}", however much was sent`, async () => {
      const file = join(folder, 'too-large.json');
      await writeFile(file, JSON.stringify(chat('gpt-model', { user: 'x'.repeat(40_000_000) })));
      const tooLarge = await ok('-i', `${url}/v1/chat/completions`, ...KEY, '-H', expect, '--data-binary', `@${file}`);
      assert.match(tooLarge, /HTTP\/1\.1 413 /);
      assert.match(tooLarge, /"request_too_large"/);
      const unknown = await ok(
        '-i',
        `${url}/v1/chat/completions`,
        '-H',
        expect,
        '-H',
        'Authorization: Bearer sk-nobody-has-this-key-00000000000000000000',
        '--data-binary',
        `@${file}`,
      );
      assert.match(unknown, /HTTP\/1\.1 401 /);
      await books.check(free(413), free(401));
    });
  }
});
