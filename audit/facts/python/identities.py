"""Strings that may name something outside the repository: a hub id, an API model, an address, an absolute path."""

import re

_HUB = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.\-]{0,95}")
_API = re.compile(
    # `provider/model` as routers spell it
    r"(?:[a-z][a-z_]{1,20}/){0,2}(?:(?:us\.|eu\.|apac\.)?(?:anthropic|cohere|mistral|amazon|meta|ai21)\.)?(?:"
    r"gpt-[0-9o][\w.\-]*|gpt-oss[\w.\-]*|chatgpt-[\w.\-]+|o[134](?:-(?:mini|preview|pro|deep)[\w.\-]*|-\d[\w.\-]*)?"
    r"|text-(?:davinci|curie|babbage|ada|embedding)-[\w.\-]+|code-davinci-[\w.\-]+|davinci(?:-[\w.\-]+)?|babbage-002"
    r"|claude-[\w.\-@]+|(?:models/)?gemini-[\w.\-]+|(?:chat|text|code)-bison[\w.\-@]*|palm-2[\w.\-]*"
    r"|command-(?:r\b|a\b|light|nightly|xlarge|medium|text)[\w.\-]*"
    r"|mistral-(?:tiny|small|medium|large)[\w.\-]*|open-mi[sx]tral-[\w.\-]+|codestral-[\w.\-]+|deepseek-(?:chat|reasoner|coder)|grok-[\w.\-]+"
    r"|qwen-(?:max|plus|turbo)[\w.\-]*|sonar[\w.\-]*|embed-(?:english|multilingual)[\w.\-]*|rerank-[\w.\-]+"
    r"|llama-?[23][\w.\-]*-(?:versatile|instant|8192|32768)|llama[23]-(?:1-|2-|3-)?\d+b-(?:instruct|chat)-v1|mixtral-8x7b-32768|titan-[\w.\-]+|nova-(?:micro|lite|pro)[\w.\-]*|j2-[\w.\-]+|jamba-[\w.\-]+"
    r"|glm-[34][\w.\-]*|moonshot-v1[\w.\-]*|ernie-(?:\d|bot|speed|lite|tiny|char|func|x1|novel)[\w.\-]*|yi-(?:large|medium|spark)[\w.\-]*)(?::[\w.\-]+)?"
    # weights that a router hosts: `together_ai/org/model`
    r"|(?:together_ai|openrouter|replicate|fireworks_ai|deepinfra|anyscale|huggingface|hosted_vllm|groq|novita|nvidia_nim|sambanova)/[\w.\-]+(?:/[\w.\-]+){1,3}"
    r"|(?:together_ai|fireworks_ai|hosted_vllm|groq|ollama|ollama_chat|azure|azure_ai|bedrock|vertex_ai|sagemaker)/[\w.\-]+(?::[\w.\-]+)?",
)
_SHORT = frozenset({"o1", "o3", "davinci", "sonar"})
_PATH = re.compile(
    r"(?:/(?:home|Users|mnt|data\d*|scratch|root|nfs|media|srv|share|work|workspace|project|projects|raid|ssd|hdd|disk\d*|gpfs|lustre|private)/[^\s'\"<>|*?]{1,200}|[A-Za-z]:[\\/][^\s'\"<>|*?]{1,200})"
)
_URL = re.compile(r"(?:https?|s3|gs|ftp|hf)://[^\s'\"<>]{3,500}")


def identity_kind(value: str) -> str:
    """ "hub", "api", "url", "path", or "" for a string that is no identity by its shape."""
    size = len(value)
    if size < 2 or size > 512:
        return ""
    if "/" in value:
        if "://" in value:
            return "url" if _URL.fullmatch(value) else ""
        if value[0] == "/" or value[1] == ":":
            return "path" if _PATH.fullmatch(value) else ""
        if _API.fullmatch(value) and not value.startswith("openai/gpt-oss"):  # open weights
            return "api"
        return "hub" if size <= 160 and _HUB.fullmatch(value) else ""
    if value[1] == ":" and _PATH.fullmatch(value):
        return "path"
    if (
        size <= 64
        and value[0] in "abcdegjlmnopqrstuy"
        and ("-" in value or value in _SHORT)
        and _API.fullmatch(value)
    ):
        return "api"
    return ""
