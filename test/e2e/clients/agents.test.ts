/**
 * Coding agents at work: Codex, Claude Code and Gemini CLI each write a file and change it, in several turns, on a
 * provider of each kind. What the provider is sent is held against the conversation that it should see in its own
 * dialect.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { get, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { secret } from '../../support/api/clouds.ts';
import { KEYS } from '../../support/manifests.ts';
import { KINDS } from './agent-kinds.ts';
import type { AgentKind, Seen, Turn } from './agent-kinds.ts';
import { claudeCode, codex, geminiCli } from './clients.ts';
import type { Command, Places } from './clients.ts';
import { toolsOf } from './conversation.ts';
import { installClients } from './install.ts';
import { expectRecording } from './recordings.ts';
import { refusalOf } from './rules.ts';
import { runCommand } from './run.ts';
import { startTap } from './tap.ts';
import type { Exchange, Tap } from './tap.ts';

const NAMES = Object.keys(KINDS) as readonly AgentKind[];
/** Codex has the tool apply_patch for models that it knows by name. */
const CODEX_MODEL = 'gpt-5.5';
const MODEL = 'gpt-5.6';

const PATCHES = [
  '*** Begin Patch\n*** Add File: notes.txt\n+one\n+café\n*** End Patch\n',
  '*** Begin Patch\n*** Update File: notes.txt\n@@\n-one\n+two\n café\n*** End Patch\n',
];
/** Providers whose reasoning comes back with a proof. */
const PROVES: ReadonlySet<AgentKind> = new Set(['Responses', 'Gemini', 'Converse']);
const WRITTEN = 'two\ncafé\n';

/** The headers by which the agents name their sessions. Gemini CLI names none. */
const SESSION_HEADERS: Readonly<Record<string, string>> = {
  codex: 'session-id',
  claude: 'x-claude-code-session-id',
};

const installed = await installClients();

describe.skipIf(installed.skip)('an agent', () => {
  const stacks: Partial<Record<AgentKind, TestStack>> = {};
  const taps: Partial<Record<AgentKind, Tap>> = {};
  const refusals: string[] = [];
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'mgw-agents-'));
    for (const kind of NAMES) {
      const stack = await startTestStack({ files: ({ openaiUrl }) => ({ 'agents.yaml': manifests(kind, openaiUrl) }) });
      stacks[kind] = stack;
      taps[kind] = await startTap(stack.gateway.url, () => stack.openai.requests);
    }
  });
  afterAll(async () => {
    for (const tap of Object.values(taps)) await tap.stop();
    for (const stack of Object.values(stacks)) await stack.stop();
    await rm(root, { recursive: true, force: true });
  });
  afterEach(() => {
    for (const stack of Object.values(stacks)) tidyUp(stack);
  });

  const stackOf = (kind: AgentKind): TestStack => {
    const stack = stacks[kind];
    if (!stack) throw new Error('it was not started');
    return stack;
  };

  /** Answers each turn as far as the conversation has come, by the kind's rules, and collects what it was sent. */
  function script(kind: AgentKind, turns: readonly Turn[], tool: string): readonly Seen[] {
    const { read, write } = KINDS[kind];
    const seen: Seen[] = [];
    stackOf(kind).openai.script((request) => {
      const refused = refusalOf(request.path, request.json());
      if (refused) {
        refusals.push(`${request.path}: ${refused.message}`);
        return refused.reply;
      }
      const said = read(request.json(), tool);
      // a side question, without the agent's tools
      if (!said.declared) return write({ input: null }, request);
      seen.push(said);
      return write(turns[said.results] ?? { input: null }, request);
    });
    return seen;
  }

  /** What the agent has written. */
  async function work(name: string, kind: AgentKind, command: (places: Places) => Promise<Command>): Promise<string> {
    if (installed.skip !== false) throw new Error(installed.skip);
    const cwd = join(root, `${name}-${kind}`);
    await mkdir(cwd);
    const tap = taps[kind];
    if (!tap) throw new Error('it was not started');
    const places = { ...installed, url: tap.url, key: KEYS.main, work: cwd };
    const { code, output } = await runCommand(await command(places));
    assert.deepEqual(refusals.splice(0), []);
    assert.equal(code, 0, output);
    assert.match(output, /All done\./);
    // other questions, such as that for a title, come without the agent's tools, in any order
    const turns = tap.take().filter(({ request }) => toolsOf(request).length > 1);
    await expectRecording(`${name} edits a file ${kind}`, turns);
    await expectSession(stackOf(kind), name, turns);
    return readFile(join(cwd, 'notes.txt'), 'utf8');
  }

  /** The usage records of one run name the session that the agent says it is in. */
  async function expectSession(stack: TestStack, name: string, turns: readonly Exchange[]): Promise<void> {
    const header = SESSION_HEADERS[name];
    if (header === undefined) return;
    const sessions = turns.map(({ request }) => request.headers[header]);
    assert.match(String(sessions[0]), /^[\w-]{20,}$/);
    const records = await Promise.all(
      turns.map(({ headers }) => get(stack, `/v1/usage/${String(headers['x-request-id'])}`)),
    );
    assert.deepEqual(
      records.map((record) => record.json().session),
      sessions.map(() => sessions[0]),
    );
  }

  for (const kind of NAMES)
    it(`like Codex edits a file by apply_patch on a provider of ${kind}`, async () => {
      const turns: readonly Turn[] = [...PATCHES.map((input) => ({ tool: 'apply_patch', input })), { input: null }];
      const seen = script(kind, turns, 'apply_patch');
      assert.equal(await work('codex', kind, async (places) => unboxed(await codex(CODEX_MODEL, places))), WRITTEN);
      expectHistory(seen, PROVES.has(kind), kind === 'Responses' ? PATCHES : PATCHES.map((input) => ({ input })));
      for (const { declared, searches } of seen) {
        if (kind === 'Responses') assert.equal(declared.type, 'custom');
        assert.equal(searches, false);
      }
    });

  it('like Codex is given a list of models when a command prints its key', async () => {
    if (installed.skip !== false) throw new Error(installed.skip);
    script('Chat', [{ input: null }], 'apply_patch');
    const [cwd, home] = [join(root, 'codex-models'), join(root, 'codex-home')];
    for (const folder of [cwd, home]) await mkdir(folder);
    const tap = taps.Chat;
    if (!tap) throw new Error('it was not started');
    const { args, ...command } = unboxed(
      await codex(CODEX_MODEL, { ...installed, url: tap.url, key: KEYS.main, work: cwd }),
    );
    const byCommand = args.map((arg) =>
      arg.replace('env_key="GATEWAY_KEY"', 'auth={command="printenv",args=["GATEWAY_KEY"]}'),
    );
    const { code, output } = await runCommand({
      ...command,
      args: byCommand,
      env: { ...command.env, CODEX_HOME: home },
    });
    assert.equal(code, 0, output);
    const lists = tap.take().filter(({ request }) => request.path.startsWith('/v1/models?client_version='));
    assert.ok(lists.length > 0, output);
    for (const { status, body } of lists) {
      const { data, models } = JSON.parse(body.toString());
      assert.deepEqual(
        [status, data.some(({ id }: { readonly id: string }) => id === CODEX_MODEL), models],
        [200, true, []],
      );
    }
    // Codex keeps only a list that it could read
    assert.deepEqual(JSON.parse(await readFile(join(home, 'models_cache.json'), 'utf8')).models, []);
  });

  for (const kind of NAMES)
    it(`like Claude Code edits a file by its tools on a provider of ${kind}`, async () => {
      const file = join(root, `claude-${kind}`, 'notes.txt');
      const turns: readonly Turn[] = [
        { tool: 'Write', input: { file_path: file, content: 'one\ncafé\n' } },
        { tool: 'Edit', input: { file_path: file, old_string: 'one', new_string: 'two', replace_all: false } },
        { input: null },
      ];
      const seen = script(kind, turns, 'Write');
      assert.equal(
        await work('claude', kind, async (places) => {
          const { args, ...command } = await claudeCode(MODEL, places);
          return { ...command, args: [...args, '--allowedTools', 'Write,Edit', '--permission-mode', 'acceptEdits'] };
        }),
        WRITTEN,
      );
      expectHistory(
        seen,
        PROVES.has(kind),
        turns.slice(0, 2).map(({ input }) => input),
      );
    });

  for (const kind of NAMES)
    it(`like Gemini CLI edits a file by its tools on a provider of ${kind}`, async () => {
      const file = join(root, `gemini-${kind}`, 'notes.txt');
      const turns: readonly Turn[] = [
        { tool: 'write_file', input: { file_path: file, content: 'one\ncafé\n' } },
        { tool: 'replace', input: { file_path: file, instruction: 'change it', old_string: 'one', new_string: 'two' } },
        { input: null },
      ];
      const seen = script(kind, turns, 'write_file');
      assert.equal(
        await work('gemini', kind, async (places) => {
          const { args, ...command } = await geminiCli(MODEL, places);
          return { ...command, args: [...args, '--approval-mode', 'auto_edit'] };
        }),
        WRITTEN,
      );
      expectHistory(
        seen,
        // it sets no budget, without which a Claude does not think
        PROVES.has(kind) && kind !== 'Converse',
        turns.slice(0, 2).map(({ input }) => input),
      );
    });
});

/** Each turn has the calls and results of those before it, as this provider writes them, and its own reasoning. */
function expectHistory(seen: readonly Seen[], reasons: boolean, calls: readonly unknown[]): void {
  assert.deepEqual(
    seen.map(({ results }) => results),
    [0, 1, 2],
  );
  assert.deepEqual(seen.at(-1)!.calls, calls);
  assert.deepEqual(
    seen.map(({ proofs }) => proofs),
    reasons ? [0, 1, 2] : [0, 0, 0],
  );
}

/** With its own web search, and without its sandbox, which needs rights that a container may not have. */
function unboxed({ args, ...command }: Command): Command {
  const searching = args.map((arg) => (arg === 'web_search="disabled"' ? 'web_search="live"' : arg));
  return { ...command, args: [...searching, '--dangerously-bypass-approvals-and-sandbox'] };
}

function manifests(kind: AgentKind, url: string): string {
  const { model, channel } = KINDS[kind];
  const names = [CODEX_MODEL, MODEL];
  const each = (write: (name: string) => string): string => names.map(write).join(', ');
  return `${secret('bedrock-key', { apiKey: 'bedrock-api-key-value' })}
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: agents}
spec:
  models: [${each((name) => `{name: ${name}, contextTokens: 400000, maxOutputTokens: 32000, providerTools: Drop}`)}]
  channels: [{name: a, models: [${each((name) => `{name: ${name}, upstreamName: "${model}"}`)}], ${channel(url)}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: agents}
spec: {models: [${each((name) => `{name: ${name}, vendor: V, quotaType: Token, modelRatio: "0.001"}`)}]}
`;
}
