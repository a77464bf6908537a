/** Runs one client against each model, and prints a verdict per line for the suite. */
export const ROOT = process.env.GATEWAY_URL;
export const OPENAI = `${ROOT}/v1`;
export const KEY = process.env.GATEWAY_KEY;

export function check(condition, message) {
  if (!condition) throw new Error(`expected ${message}`);
}

export async function run(scenario) {
  for (const model of process.env.MODELS.split(',')) {
    const verdict = await scenario(model).then(
      () => ({ model, ok: true }),
      (error) => ({ model, ok: false, error: String(error?.stack ?? error).slice(0, 1000) }),
    );
    console.log(`VERDICT ${JSON.stringify(verdict)}`);
  }
}
