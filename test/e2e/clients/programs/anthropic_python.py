from anthropic import Anthropic
from pydantic import BaseModel, Field
from harness import KEY, ROOT, check, run

client = Anthropic(base_url=ROOT, api_key=KEY, max_retries=0)
TOOLS = [{"name": "weather", "description": "The weather in a city.",
          "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]


class Person(BaseModel):
    name: str
    age: int = Field(ge=18)


def scenario(model):
    messages = [{"role": "user", "content": "hello"}]
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    answer = client.messages.create(model=model, max_tokens=2000, system=system, messages=messages)
    check(answer.content[0].text, "an answer")
    with client.messages.stream(model=model, max_tokens=2000, messages=messages) as stream:
        check(stream.get_final_message().usage.output_tokens > 0, "usage at the end of the stream")
    parsed = client.messages.parse(model=model, max_tokens=2000, messages=messages, output_format=Person)
    check(parsed.parsed_output.age >= 18, "a parsed answer")
    check(client.messages.count_tokens(model=model, messages=messages).input_tokens > 0, "a count")
    messages = [{"role": "user", "content": "use the tool"}]
    called = client.messages.create(model=model, max_tokens=2000, messages=messages, tools=TOOLS)
    use = called.content[-1]
    messages += [{"role": "assistant", "content": called.content}, {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": use.id, "content": "20 C"}]}]
    final = client.messages.create(model=model, max_tokens=2000, messages=messages, tools=TOOLS)
    check("20 C" in final.content[0].text, "the tool's result")


run(scenario)
