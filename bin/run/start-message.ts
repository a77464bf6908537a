/** The message that `mgw run --hello` prints: addresses, the key, and example calls. */
import { Endpoint, Protocol } from '#snapshot/snapshot.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';

interface ConsoleFacts {
  readonly url: string;
  /** The admin token, if this start created it; it is never printed again. */
  readonly newToken: string | undefined;
  readonly tokenFile: string;
}

interface StartMessageFacts {
  readonly url: string;
  readonly adminUrl: string;
  readonly demoUrl: string | undefined;
  /** Undefined if there is no console. */
  readonly console: ConsoleFacts | undefined;
  readonly configDir: string;
  /** The key, if this start created it and it may be printed; it is never printed again. */
  readonly key: string | undefined;
  /** The file that contains the key; undefined if no key was ever generated. */
  readonly keyFile: string | undefined;
  readonly snapshot: Snapshot;
}

/** The whole message, with a line break at its end. */
export function startMessage(facts: StartMessageFacts): string {
  const { url, adminUrl, demoUrl, configDir, key, keyFile, console } = facts;
  const places = [
    ['SDKs', `${url}/v1 (OpenAI), ${url} (Anthropic)`],
    ['Prices', `${url}/pricing`],
    ...(console === undefined
      ? []
      : [['Console', `${console.url} (console for keys and credit); the admin token is in ${console.tokenFile}`]]),
    ['Admin', `${adminUrl}/metrics, /config_dump, /readyz, /healthz`],
    ['Manifests', `${configDir}: an edit takes effect within a second`],
    ...(demoUrl === undefined
      ? []
      : [['Provider', `${demoUrl}, a demo provider with rule-based responses: nothing costs real money`]]),
  ];
  const lines = [
    '',
    'Model Gateway is ready.',
    '',
    ...places.map(([name = '', place = '']) => `  ${name.padEnd(10)} ${place}`),
    '',
  ];
  if (console?.newToken !== undefined)
    lines.push('The admin token of the console, printed only once:', '', `  ${console.newToken}`, '');
  if (keyFile !== undefined) lines.push(...keyLines(key, keyFile), ...tryLines(facts, keyFile));
  return `${lines.join('\n')}\n`;
}

function keyLines(key: string | undefined, keyFile: string): string[] {
  if (key === undefined) return [`Your key is in ${keyFile}.`, ''];
  return [`Your key, printed only once and stored in ${keyFile}:`, '', `  ${key}`, ''];
}

/**
 * Example calls that can be pasted as they are: with the key itself if it may be printed, else with a shell
 * substitution that reads its file.
 */
function tryLines({ url, key, snapshot }: StartMessageFacts, keyFile: string): string[] {
  const shellKey = key ?? `$(sed -n 's/^ *apiKey: *//p' '${keyFile}')`;
  const codeKey = key === undefined ? 'process.env.MGW_KEY' : `'${key}'`;
  const openaiModel = chatModel(snapshot, Protocol.OPENAI);
  const anthropicModel = chatModel(snapshot, Protocol.ANTHROPIC);
  const model = openaiModel ?? anthropicModel;
  if (model === undefined) return [];
  return [
    'Try it:',
    '',
    `  curl ${url}/v1/chat/completions \\`,
    `    -H "authorization: Bearer ${shellKey}" -H 'content-type: application/json' \\`,
    `    -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello!"}]}'`,
    '',
    '  # what it cost, and what is left',
    `  curl ${url}/v1/key -H "authorization: Bearer ${shellKey}"`,
    '',
    `Or with the SDKs: save as try.mjs in this folder, ${
      key === undefined ? `then  MGW_KEY=${shellKey} node try.mjs` : 'then  node try.mjs'
    }`,
    '',
    ...openaiSnippet(url, codeKey, model),
    ...anthropicSnippet(url, codeKey, anthropicModel ?? model),
    '',
  ];
}

function openaiSnippet(url: string, key: string, model: string): string[] {
  return [
    `  import OpenAI from 'openai';`,
    `  const openai = new OpenAI({ baseURL: '${url}/v1', apiKey: ${key} });`,
    `  const chat = await openai.chat.completions.create({ model: '${model}', messages: [{ role: 'user', content: ` +
      `'Hello!' }] });`,
    `  console.log(chat.choices[0].message.content);`,
    '',
  ];
}

function anthropicSnippet(url: string, key: string, model: string): string[] {
  return [
    `  import Anthropic from '@anthropic-ai/sdk';`,
    `  const anthropic = new Anthropic({ baseURL: '${url}', apiKey: ${key} });`,
    `  const message = await anthropic.messages.create({ model: '${model}', max_tokens: 200, messages: [{ role: ` +
      `'user', content: 'A haiku, please' }] });`,
    `  console.log(message.content[0].text);`,
  ];
}

/** A chat model of a route whose first channel speaks this protocol. */
function chatModel({ routes }: Snapshot, protocol: Protocol): string | undefined {
  const models = routes.filter(({ channels }) => channels[0]?.protocol === protocol).flatMap((route) => route.models);
  return models.find(({ endpoints }) => endpoints.includes(Endpoint.CHAT))?.name;
}
