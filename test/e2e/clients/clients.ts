/** The clients that the suite runs: how each is started, and what is known not to work. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProviderKind } from './gateway.ts';

/** Something that does not work, documented in docs/guides/clients.md. */
export interface Limit {
  readonly kind: ProviderKind;
  /** Absent: all models of this kind. */
  readonly models?: readonly string[];
  /** In the client's error. */
  readonly error: RegExp;
  readonly reason: string;
}

/** A process that runs a client. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface Places {
  readonly url: string;
  readonly key: string;
  readonly python: string;
  readonly aider: string;
  readonly npm: string;
  /** An empty folder of this client. */
  readonly work: string;
}

interface Named {
  readonly name: string;
  readonly limits?: readonly Limit[];
}

/** A program of ours that uses a library and prints a verdict per model. */
export interface LibraryClient extends Named {
  /** In programs/, ending in .py or .mjs. */
  readonly program: string;
}

/** A program for people, which is asked one question per model and must print the answer. */
export interface CommandLineClient extends Named {
  readonly command: (model: string, places: Places) => Promise<Command>;
}

export const LIBRARIES: readonly LibraryClient[] = [
  { name: 'OpenAI SDK (Python)', program: 'openai_python.py' },
  { name: 'Anthropic SDK (Python)', program: 'anthropic_python.py' },
  { name: 'LangChain OpenAI (Python)', program: 'langchain_openai_python.py' },
  { name: 'LangChain Anthropic (Python)', program: 'langchain_anthropic_python.py' },
  { name: 'LlamaIndex OpenAI', program: 'llama_index_openai.py' },
  { name: 'LlamaIndex Anthropic', program: 'llama_index_anthropic.py' },
  { name: 'Pydantic AI OpenAI', program: 'pydantic_ai_openai.py' },
  { name: 'Pydantic AI Anthropic', program: 'pydantic_ai_anthropic.py' },
  { name: 'Instructor OpenAI', program: 'instructor_openai.py' },
  { name: 'Instructor Anthropic', program: 'instructor_anthropic.py' },
  { name: 'OpenAI Agents (Python)', program: 'openai_agents_python.py' },
  { name: 'OpenAI SDK (JavaScript)', program: 'openai_js.mjs' },
  { name: 'Anthropic SDK (JavaScript)', program: 'anthropic_js.mjs' },
  { name: 'LangChain OpenAI (JavaScript)', program: 'langchain_openai_js.mjs' },
  { name: 'LangChain Anthropic (JavaScript)', program: 'langchain_anthropic_js.mjs' },
  { name: 'AI SDK OpenAI', program: 'ai_sdk_openai.mjs' },
  { name: 'AI SDK OpenAI-compatible', program: 'ai_sdk_compatible.mjs' },
  { name: 'AI SDK Anthropic', program: 'ai_sdk_anthropic.mjs' },
  { name: 'OpenAI Agents (JavaScript)', program: 'openai_agents_js.mjs' },
  { name: 'OpenAI SDK, Responses (JavaScript)', program: 'openai_responses_js.mjs' },
  { name: 'OpenAI Agents, Responses (JavaScript)', program: 'openai_agents_responses_js.mjs' },
  { name: 'OpenAI Agents, Responses (Python)', program: 'openai_agents_responses_python.py' },
  { name: 'LangChain OpenAI, Responses (Python)', program: 'langchain_responses_python.py' },
  { name: 'LangChain OpenAI, Responses (JavaScript)', program: 'langchain_responses_js.mjs' },
  { name: 'Google Gen AI SDK (JavaScript)', program: 'google_genai_js.mjs' },
];

export const COMMAND_LINES: readonly CommandLineClient[] = [
  { name: 'Claude Code', command: claudeCode },
  { name: 'Codex', command: codex },
  {
    name: 'opencode',
    command: opencode,
    limits: [
      {
        kind: 'OpenAI',
        models: ['gpt-4o', 'o3-mini'],
        error: /description': string too long/,
        reason: '✔ on GPT-5.1; its descriptions of tools are longer than older models take, with or without a gateway',
      },
    ],
  },
  { name: 'Gemini CLI', command: geminiCli },
  { name: 'aider', command: aider },
  { name: 'llm', command: llm },
];

/** Also for the suite's test of its costs: the answer is JSON with `result` and `total_cost_usd`. */
export function claudeCode(model: string, { url, key, npm, work }: Places): Promise<Command> {
  return Promise.resolve({
    file: join(npm, 'node_modules', '.bin', 'claude'),
    cwd: work,
    args: ['-p', 'hello', '--output-format', 'json', '--model', model],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  });
}

/** Also for the suite's agents. */
export function codex(model: string, { url, key, npm, work }: Places): Promise<Command> {
  const provider =
    `{name="gw",base_url="${url}/v1",env_key="GATEWAY_KEY",wire_api="responses",` +
    'request_max_retries=0,stream_max_retries=0}';
  return Promise.resolve({
    file: join(npm, 'node_modules', '.bin', 'codex'),
    cwd: work,
    env: { GATEWAY_KEY: key },
    args: [
      'exec',
      '--skip-git-repo-check',
      '-c',
      `model_providers.gw=${provider}`,
      '-c',
      'model_provider=gw',
      '-c',
      'web_search="disabled"',
      '-m',
      model,
      'hello',
    ],
  });
}

/** Also for the suite's agents. */
export async function geminiCli(model: string, { url, key, npm, work }: Places): Promise<Command> {
  await mkdir(join(work, '.gemini'), { recursive: true });
  await writeFile(
    join(work, '.gemini', 'settings.json'),
    JSON.stringify({
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
      security: { auth: { selectedType: 'gemini-api-key' } },
    }),
  );
  return {
    file: join(npm, 'node_modules', '.bin', 'gemini'),
    cwd: work,
    args: ['-p', 'hello', '-m', model],
    env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  };
}

async function opencode(model: string, { url, key, npm, work }: Places): Promise<Command> {
  await writeFile(
    join(work, 'opencode.json'),
    JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      provider: {
        gw: {
          npm: '@ai-sdk/openai-compatible',
          name: 'gw',
          options: { baseURL: `${url}/v1`, apiKey: key },
          models: { [model]: { name: model } },
        },
      },
    }),
  );
  return {
    file: join(npm, 'node_modules', '.bin', 'opencode'),
    args: ['run', '-m', `gw/${model}`, 'hello'],
    env: {},
    cwd: work,
  };
}

function aider(model: string, { url, key, aider: python, work }: Places): Promise<Command> {
  return Promise.resolve({
    file: python,
    cwd: work,
    env: { OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key, LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    args: [
      '-m',
      'aider',
      '--model',
      `openai/${model}`,
      '--message',
      'hello',
      '--no-git',
      '--yes-always',
      '--no-check-update',
      '--no-show-model-warnings',
      '--analytics-disable',
      '--no-pretty',
    ],
  });
}

async function llm(model: string, { url, key, python, work }: Places): Promise<Command> {
  const folder = join(work, 'llm');
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'extra-openai-models.yaml'),
    `- {model_id: gw, model_name: ${model}, api_base: "${url}/v1", api_key_name: gw}\n`,
  );
  const args = ['-m', 'llm', '-m', 'gw', '--key', key, 'hello'];
  return { file: python, args, env: { LLM_USER_PATH: folder }, cwd: work };
}
