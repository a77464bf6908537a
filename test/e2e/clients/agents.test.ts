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
import type { Json, TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { anthropicStream, openaiStream, sseReply } from '../../support/provider-answers.ts';
import { claudeCode, codex, geminiCli } from './clients.ts';
import type { Command, Places } from './clients.ts';
import { toolsOf } from './conversation.ts';
import { installClients } from './install.ts';
import { expectRecording } from './recordings.ts';
import { runCommand } from './run.ts';
import { startTap } from './tap.ts';
import type { Exchange, Tap } from './tap.ts';

/** What the channel's provider speaks. */
type Kind = 'Responses' | 'Chat' | 'Anthropic';

/** Codex has the tool apply_patch for models that it knows by name. */
const MODEL = 'gpt-5.5';

const PATCHES = [
  '*** Begin Patch\n*** Add File: notes.txt\n+one\n+café\n*** End Patch\n',
  '*** Begin Patch\n*** Update File: notes.txt\n@@\n-one\n+two\n café\n*** End Patch\n',
];
const WRITTEN = 'two\ncafé\n';

/** The headers by which the agents name their sessions. Gemini CLI names none. */
const SESSION_HEADERS: Readonly<Record<string, string>> = {
  codex: 'session-id',
  claude: 'x-claude-code-session-id',
};

/** What a model does in one turn: it calls a tool, or it is done. */
interface Turn {
  readonly tool?: string;
  readonly input: Json;
}

interface Seen {
  /** The tool of this name, as the provider was told of it. */
  readonly declared: Json;
  /** It has the search that Codex asks for, which the route leaves out. */
  readonly searches: boolean;
  /** The calls and results so far, as [name or id, …]. */
  readonly calls: readonly Json[];
  readonly results: number;
}

const installed = await installClients();

describe.skipIf(installed.skip)('an agent', () => {
  const stacks: Partial<Record<Kind, TestStack>> = {};
  const taps: Partial<Record<Kind, Tap>> = {};
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'mgw-agents-'));
    for (const kind of ['Responses', 'Chat', 'Anthropic'] as const) {
      const stack = await startTestStack({ files: (urls) => ({ 'agents.yaml': manifests(channelOf(kind, urls)) }) });
      stacks[kind] = stack;
      taps[kind] = await startTap(stack.gateway.url, () => [...stack.openai.requests, ...stack.anthropic.requests]);
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

  const stackOf = (kind: Kind): TestStack => {
    const stack = stacks[kind];
    if (!stack) throw new Error('it was not started');
    return stack;
  };

  /** What the agent has written. */
  async function work(name: string, kind: Kind, command: (places: Places) => Promise<Command>): Promise<string> {
    if (installed.skip !== false) throw new Error(installed.skip);
    const cwd = join(root, `${name}-${kind}`);
    await mkdir(cwd);
    const tap = taps[kind];
    if (!tap) throw new Error('it was not started');
    const places = { ...installed, url: tap.url, key: KEYS.main, work: cwd };
    const { code, output } = await runCommand(await command(places));
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

  for (const kind of ['Responses', 'Chat', 'Anthropic'] as const)
    it(`like Codex edits a file by apply_patch on a provider of ${kind}`, async () => {
      const turns: readonly Turn[] = [...PATCHES.map((input) => ({ tool: 'apply_patch', input })), { input: null }];
      const seen = script(stackOf(kind), kind, turns, 'apply_patch');
      assert.equal(await work('codex', kind, async (places) => unboxed(await codex(MODEL, places))), WRITTEN);
      assert.deepEqual(
        seen.map(({ results }) => results),
        [0, 1, 2],
      );
      const declared = { Responses: 'custom', Chat: 'function', Anthropic: undefined }[kind];
      for (const each of seen) assert.deepEqual([each.declared.type, each.searches], [declared, false]);
      assert.deepEqual(
        seen.at(-1)!.calls,
        PATCHES.map((patch) => (kind === 'Responses' ? patch : { input: patch })),
        'the history has the calls as this provider writes them',
      );
    });

  it('like Codex is given a list of models when a command prints its key', async () => {
    if (installed.skip !== false) throw new Error(installed.skip);
    script(stackOf('Chat'), 'Chat', [{ input: null }], 'apply_patch');
    const [cwd, home] = [join(root, 'codex-models'), join(root, 'codex-home')];
    for (const folder of [cwd, home]) await mkdir(folder);
    const tap = taps.Chat;
    if (!tap) throw new Error('it was not started');
    const { args, ...command } = unboxed(await codex(MODEL, { ...installed, url: tap.url, key: KEYS.main, work: cwd }));
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
      assert.deepEqual([status, data.some(({ id }: Json) => id === MODEL), models], [200, true, []]);
    }
    // Codex keeps only a list that it could read
    assert.deepEqual(JSON.parse(await readFile(join(home, 'models_cache.json'), 'utf8')).models, []);
  });

  for (const kind of ['Anthropic', 'Chat'] as const)
    it(`like Claude Code edits a file by its tools on a provider of ${kind}`, async () => {
      const file = join(root, `claude-${kind}`, 'notes.txt');
      const turns: readonly Turn[] = [
        { tool: 'Write', input: { file_path: file, content: 'one\ncafé\n' } },
        { tool: 'Edit', input: { file_path: file, old_string: 'one', new_string: 'two', replace_all: false } },
        { input: null },
      ];
      const seen = script(stackOf(kind), kind, turns, 'Write');
      assert.equal(
        await work('claude', kind, async (places) => {
          const { args, ...command } = await claudeCode(MODEL, places);
          return { ...command, args: [...args, '--allowedTools', 'Write,Edit', '--permission-mode', 'acceptEdits'] };
        }),
        WRITTEN,
      );
      assert.deepEqual(
        seen.map(({ results }) => results),
        [0, 1, 2],
      );
      assert.deepEqual(
        seen.at(-1)!.calls,
        turns.slice(0, 2).map(({ input }) => input),
      );
      assert.equal(seen[0]!.declared.type, kind === 'Chat' ? 'function' : undefined);
    });

  for (const kind of ['Anthropic', 'Chat'] as const)
    it(`like Gemini CLI edits a file by its tools on a provider of ${kind}`, async () => {
      const file = join(root, `gemini-${kind}`, 'notes.txt');
      const turns: readonly Turn[] = [
        { tool: 'write_file', input: { file_path: file, content: 'one\ncafé\n' } },
        { tool: 'replace', input: { file_path: file, instruction: 'change it', old_string: 'one', new_string: 'two' } },
        { input: null },
      ];
      const seen = script(stackOf(kind), kind, turns, 'write_file');
      assert.equal(
        await work('gemini', kind, async (places) => {
          const { args, ...command } = await geminiCli(MODEL, places);
          return { ...command, args: [...args, '--approval-mode', 'auto_edit'] };
        }),
        WRITTEN,
      );
      assert.deepEqual(
        seen.map(({ results }) => results),
        [0, 1, 2],
      );
      assert.deepEqual(
        seen.at(-1)!.calls,
        turns.slice(0, 2).map(({ input }) => input),
      );
    });
});

/** With its own web search, and without its sandbox, which needs rights that a container may not have. */
function unboxed({ args, ...command }: Command): Command {
  const searching = args.map((arg) => (arg === 'web_search="disabled"' ? 'web_search="live"' : arg));
  return { ...command, args: [...searching, '--dangerously-bypass-approvals-and-sandbox'] };
}

function channelOf(kind: Kind, urls: { readonly openaiUrl: string; readonly anthropicUrl: string }): string {
  if (kind === 'Anthropic') return `protocol: Anthropic, baseUrl: "${urls.anthropicUrl}"`;
  const endpoints = kind === 'Responses' ? '[Chat, Responses]' : '[Chat]';
  return `protocol: OpenAI, baseUrl: "${urls.openaiUrl}/v1", endpoints: ${endpoints}`;
}

function manifests(channel: string): string {
  return `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: agents}
spec:
  models: [{name: ${MODEL}, contextTokens: 400000, maxOutputTokens: 32000, providerTools: Drop}]
  channels: [{name: a, ${channel}}]
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: agents}
spec: {models: [{name: ${MODEL}, vendor: V, quotaType: Token, modelRatio: "0.001"}]}
`;
}

/** Answers each turn as far as the conversation has come, and collects what it was sent. */
function script({ openai, anthropic }: TestStack, kind: Kind, turns: readonly Turn[], tool: string): readonly Seen[] {
  const seen: Seen[] = [];
  (kind === 'Anthropic' ? anthropic : openai).script((request) => {
    const said = READERS[kind](request.json(), tool);
    // a side question, without the agent's tools
    if (!said.declared) return WRITERS[kind]({ input: null }, request);
    seen.push(said);
    return WRITERS[kind](turns[said.results] ?? { input: null }, request);
  });
  return seen;
}

const isSearch = (tool: Json): boolean => /web_search/.test(JSON.stringify([tool.type, tool.name]));

const READERS: Readonly<Record<Kind, (body: Json, tool: string) => Seen>> = {
  Responses: ({ tools = [], input }, tool) => ({
    declared: tools.find(({ name }: Json) => name === tool),
    searches: tools.some(isSearch),
    calls: input.filter(({ type }: Json) => type === 'custom_tool_call').map((item: Json) => item.input),
    results: input.filter(({ type }: Json) => type === 'custom_tool_call_output').length,
  }),
  Chat: ({ tools = [], messages }, tool) => ({
    declared: tools.find((each: Json) => each.function.name === tool),
    searches: tools.some(isSearch),
    calls: messages
      .flatMap((message: Json) => message.tool_calls ?? [])
      .map((call: Json) => JSON.parse(call.function.arguments)),
    results: messages.filter(({ role }: Json) => role === 'tool').length,
  }),
  Anthropic: ({ tools = [], messages }, tool) => {
    const blocks = messages.flatMap(({ content }: Json) => (Array.isArray(content) ? content : []));
    return {
      declared: tools.find(({ name }: Json) => name === tool),
      searches: tools.some(isSearch),
      calls: blocks.filter(({ type }: Json) => type === 'tool_use').map((block: Json) => block.input),
      results: blocks.filter(({ type }: Json) => type === 'tool_result').length,
    };
  },
};

const WRITERS: Readonly<Record<Kind, (turn: Turn, request: RecordedRequest) => Reply>> = {
  Responses: ({ tool, input }, { index }) => {
    const item =
      tool === undefined
        ? {
            id: `msg_${index}`,
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'All done.', annotations: [] }],
          }
        : {
            id: `ctc_${index}`,
            type: 'custom_tool_call',
            status: 'completed',
            call_id: `call_${index}`,
            name: tool,
            input,
          };
    const response = { id: `resp_${index}`, object: 'response', status: 'in_progress', output: [] as unknown[] };
    const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };
    return sseReply(
      { event: 'response.created', data: { type: 'response.created', response } },
      { event: 'response.output_item.done', data: { type: 'response.output_item.done', output_index: 0, item } },
      {
        event: 'response.completed',
        data: {
          type: 'response.completed',
          response: { ...response, status: 'completed', output: [item], usage },
        },
      },
    );
  },
  Chat: ({ tool, input }, { index }) =>
    tool === undefined
      ? openaiStream(['All ', 'done.'])
      : openaiStream([], {
          toolCalls: [
            {
              id: `call_${index}`,
              name: tool,
              arguments: JSON.stringify(typeof input === 'string' ? { input } : input),
            },
          ],
        }),
  Anthropic: ({ tool, input }, { index }) =>
    tool === undefined
      ? anthropicStream(['All ', 'done.'])
      : anthropicStream([], {
          toolUses: [
            {
              id: `toolu_${index}`,
              name: tool,
              input: typeof input === 'string' ? { input } : input,
            },
          ],
        }),
};
