/** `mgw demo-provider`: runs a provider that answers by rules. */
import { Command } from 'commander';
import { DEMO_ADDRESS } from '../defaults.ts';
import { EXIT } from '../exit-codes.ts';
import { flag, paragraphs, parseAddress } from '../options.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import { listenStopSignals } from '../run/stop-signals.ts';
import { explainStart } from '../run/start-errors.ts';

interface DemoProviderFlags {
  readonly listen: ListenAddress;
}

export function demoProviderCommand(ended: (exitCode: number) => void): Command {
  return new Command('demo-provider')
    .summary('run a demo provider with rule-based responses, for all protocols')
    .description(
      paragraphs(
        'Responds to OpenAI and Anthropic requests by rule, to try the gateway without a provider account. The ' +
          'base URL for OpenAI is http://ADDRESS/v1, for Anthropic http://ADDRESS.',
        'Words in a prompt cause failures: "fail 500", "fail 429", "slow", "stall", "cut", "long 200". See ' +
          'docs/reference/demo-provider.md for the full list.',
      ),
    )
    .addOption(
      flag('--listen <ADDRESS>', 'address to listen on')
        .default(DEMO_ADDRESS, '127.0.0.1:4010')
        .argParser(parseAddress),
    )
    .action(async ({ listen }: DemoProviderFlags) => {
      const signals = listenStopSignals();
      const { startDemoProvider } = await import('../../demo/provider.ts');
      const provider = await startDemoProvider({
        ...listen,
        onRequest: (line) => process.stdout.write(`${line}\n`),
      }).catch((error: unknown) => {
        throw explainStart(error, [{ flag: '--listen', ...listen }]);
      });
      process.stdout.write(`the demo provider is listening on ${provider.url}\n`);
      await signals.first;
      await provider.stop();
      signals.ignore();
      ended(EXIT.ok);
    });
}
