/** What a gateway's page of metrics says. */
import type { GatewayProcess } from '../support/api/process.ts';

/** A process that is not stopped answers sooner. */
export const ANSWER_MS = 10_000;

export async function metricsOf({ adminUrl }: GatewayProcess, timeoutMs = ANSWER_MS): Promise<string> {
  return (await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(timeoutMs) })).text();
}

/** The generation of the configuration in force; undefined if the process does not answer in so many milliseconds. */
export async function generationOf(process: GatewayProcess, timeoutMs: number): Promise<string | undefined> {
  try {
    return /^modelgateway_config_generation (\S+)/m.exec(await metricsOf(process, timeoutMs))?.[1];
  } catch {
    return undefined;
  }
}

/** Sums a metric over all its label sets. */
export function sumOfMetric(page: string, name: string): number {
  const lines = [...page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  if (lines.length === 0) throw new Error(`there is no metric ${name}`);
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}
