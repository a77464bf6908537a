/**
 * Client programs as people use them, against all kinds of providers, which refuse what the real APIs refuse. The suite
 * makes the table of docs/guides/clients.md: nothing in it but ✔ and documented reasons.
 */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { claudeCode, COMMAND_LINES, LIBRARIES } from './clients.ts';
import type { Command, Limit, Places } from './clients.ts';
import { MODELS, startClientsGateway } from './gateway.ts';
import type { ClientsGateway, ProviderKind } from './gateway.ts';
import { modelOf, toolsOf } from './conversation.ts';
import { installClients } from './install.ts';
import { expectRecording, formatted } from './recordings.ts';
import { runCommand } from './run.ts';

const KINDS = Object.keys(MODELS) as readonly ProviderKind[];
const PAGE = join(import.meta.dirname, '../../../docs/guides/clients.md');
/** A program starts once for each model, which takes it minutes on a busy machine. */
const PROGRAM_TIMEOUT_MS = 30 * 60_000;
const TABLE = /(<!-- made by test\/e2e\/clients -->\n)[\s\S]*?(\n<!-- end -->)/;

const installed = await installClients();

describe.skipIf(installed.skip)('clients', () => {
  let gateway: ClientsGateway;
  let root: string;
  const rows: string[] = [];

  beforeAll(async () => {
    gateway = await startClientsGateway();
    root = await mkdtemp(join(tmpdir(), 'mgw-clients-'));
    if (installed.skip !== false) return;
    await cp(join(import.meta.dirname, 'programs'), join(root, 'programs'), { recursive: true });
    await symlink(join(installed.npm, 'node_modules'), join(root, 'node_modules'));
  });
  afterAll(async () => {
    await gateway.stop();
    await rm(root, { recursive: true, force: true });
  });

  async function placesOf(name: string): Promise<Places> {
    if (installed.skip !== false) throw new Error(installed.skip);
    const work = join(root, name.replaceAll(/\W+/g, '-'));
    await mkdir(work, { recursive: true });
    return { ...installed, url: gateway.url, key: gateway.key, work };
  }

  /**
   * Compares the conversations with the first model of each kind. What programs for people ask besides, such as titles,
   * comes without their tools, in any order.
   */
  async function expectRecordings(name: string): Promise<void> {
    const exchanges = gateway.takeExchanges();
    for (const kind of KINDS) {
      const calls = exchanges.filter(({ request }) => modelOf(request) === MODELS[kind][0]);
      const isAgent = COMMAND_LINES.some((each) => each.name === name);
      const turns = isAgent ? calls.filter(({ request }) => toolsOf(request).length > 0) : calls;
      await expectRecording(`${name} ${kind}`, turns.length > 0 ? turns : calls);
    }
  }

  for (const { name, program, limits } of LIBRARIES)
    it(name, async () => {
      const places = await placesOf(name);
      const models = KINDS.flatMap((kind) => MODELS[kind]);
      const { output } = await runCommand(libraryCommand(places, join(root, 'programs', program), models));
      const errors = new Map(verdictsIn(output).map(({ model, error }) => [model, error]));
      rows.push(
        judge(
          { name, limits },
          (model) => (errors.has(model) ? errors.get(model) : `no verdict: ${output.slice(-500)}`),
          gateway,
        ),
      );
      await expectRecordings(name);
    });

  for (const { name, command, limits } of COMMAND_LINES)
    it(
      name,
      async () => {
        const places = await placesOf(name);
        const errors = new Map<string, string | undefined>();
        for (const model of KINDS.flatMap((kind) => MODELS[kind])) {
          const { code, output } = await runCommand(await command(model, places));
          const answered = code === 0 && /I am the demo provider|The ledger agrees/.test(output);
          errors.set(model, answered ? undefined : `exit code ${code}: ${output.slice(-1000)}`);
        }
        rows.push(judge({ name, limits }, (model) => errors.get(model), gateway));
        await expectRecordings(name);
      },
      PROGRAM_TIMEOUT_MS,
    );

  it('Claude Code reports the cost that the ledger has', async () => {
    const places = await placesOf('cost');
    for (const model of MODELS.Anthropic) {
      const before = await gateway.spent();
      const { output } = await runCommand(await claudeCode(model, places));
      const { total_cost_usd: reported } = JSON.parse(output.slice(output.indexOf('{'))) as { total_cost_usd: number };
      assert.equal(reported.toFixed(9), (Number((await gateway.spent()) - before) / 1e9).toFixed(9), model);
    }
  });

  it('Claude Code says what is wrong with a key, instead of trying again', async () => {
    const places = await placesOf('wrong-key');
    const { output } = await runCommand(await claudeCode(MODELS.Anthropic[0], { ...places, key: 'sk-wrong' }));
    assert.match(output, /This API key is unknown/);
  });

  it('are in the table of docs/guides/clients.md', async () => {
    const table = [`| client | ${KINDS.join(' | ')} |`, `|---|${'---|'.repeat(KINDS.length)}`, ...rows].join('\n');
    console.log(`\n${table}\n`);
    const page = await readFile(PAGE, 'utf8');
    assert.match(page, TABLE);
    const filled = page.replace(TABLE, (_, start: string, end: string) => `${start}\n${table}\n${end}`);
    const current = await formatted(filled, PAGE);
    if (process.env['GOLDEN'] === 'write') await writeFile(PAGE, current);
    else assert.equal(page, current, 'run this suite with GOLDEN=write');
  });
});

/** The client's row of the table. Fails for an error that no limit documents, and for a limit that is none any more. */
function judge(
  { name, limits = [] }: { readonly name: string; readonly limits?: readonly Limit[] | undefined },
  errorOf: (model: string) => string | undefined,
  gateway: ClientsGateway,
): string {
  const refusals = gateway.takeRefusals();
  const cells = KINDS.map((kind) => {
    const reasons = new Set<string>();
    for (const model of MODELS[kind]) {
      const limit = limits.find((each) => each.kind === kind && each.models?.includes(model) !== false);
      const error = errorOf(model);
      if (!limit) assert.equal(error, undefined, `${name} with ${model}; refused: ${refusals.join('\n')}`);
      else {
        assert.match(error ?? 'it works', limit.error, `${name} with ${model}`);
        reasons.add(limit.reason);
      }
    }
    return reasons.size === 0 ? '✔' : [...reasons].join('; ');
  });
  return `| ${name} | ${cells.join(' | ')} |`;
}

interface Verdict {
  readonly model: string;
  readonly error?: string;
}

function verdictsIn(output: string): Verdict[] {
  return [...output.matchAll(/^VERDICT (.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Verdict);
}

function libraryCommand({ url, key, python, work }: Places, program: string, models: readonly string[]): Command {
  const env = { GATEWAY_URL: url, GATEWAY_KEY: key, MODELS: models.join(','), PYTHONDONTWRITEBYTECODE: '1' };
  return { file: program.endsWith('.py') ? python : process.execPath, args: [program], env, cwd: work };
}
